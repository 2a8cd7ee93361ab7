package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// lines of failures on two hosts; %t is the place of a time.
const (
	bootA  = "a:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>"
	bootB  = "b:2:2 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.2<0>"
	retryA = "%ta:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<3> with " +
		"status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.1.1.1 remoteGids::ffff:10.1.1.2 hca mlx5_0"
	flushA = "%ta:1:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<3> with " +
		"status=5 opcode=0 len=0 vendor err 249 (Send) hca mlx5_0"
	closeA = "%ta:1:9 [0] misc/socket.cc:1 NCCL WARN socketProgress: Connection closed by remote peer b<1>"
	cudaB  = "%tb:2:9 [0] enqueue.cc:1 NCCL WARN Cuda failure 700 'an illegal memory access was encountered'"
	protB  = "%tb:2:9 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer 10.0.0.1<3> with " +
		"status=4 opcode=0 len=0 vendor err 81 (Send) hca mlx5_0"
	dogA = "[rank0]:[E1218 20:27:21.4 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation " +
		"timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, Timeout(ms)=600000) ran for 600081 " +
		"milliseconds before timing out."
)

func at(second string, line string) string {
	return strings.Replace(line, "%t", "[2026-03-02 10:00:"+second+"] ", 1)
}

// firstCauses are the causes of logs that are given as files, in their order.
func firstCauses(files ...string) []story.CauseID {
	var p nccllog.Parser
	for i, f := range files {
		name := string(rune('a'+i)) + ".log"
		n := 0
		for line := range strings.Lines(f) {
			n++
			p.Line(event.Place{File: name, Line: n}, []byte(strings.Replace(line, "%t", "", 1)))
		}
		p.End(event.Place{File: name, Line: n}, []byte(f))
	}
	var ids []story.CauseID
	for _, c := range Log(p.Log()).Runs[0].Causes {
		ids = append(ids, c.ID)
	}
	return ids[:1]
}

func join(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestFirstFailure(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  story.CauseID
	}{
		"the victim speaks first in one file":         {[]string{join(bootA, bootB, closeA, cudaB)}, story.CUDAError},
		"flushed before the error of the same QP":     {[]string{join(bootA, bootB, flushA, retryA)}, story.RouteOrARP},
		"retry exceeded to a host that failed itself": {[]string{join(bootA, bootB, retryA, cudaB)}, story.CUDAError},
		"the same, in files read in this order": {[]string{join(bootA, retryA), join(bootB, cudaB)},
			story.CUDAError},
		"the same, in the other order": {[]string{join(bootB, cudaB), join(bootA, retryA)},
			story.CUDAError},
		"clocks say that the retry was long before": {[]string{join(bootA, bootB, at("10", retryA),
			at("40", cudaB))}, story.RouteOrARP},
		"clocks say that another rank failed before": {[]string{join(bootA, at("40", retryA)),
			join(bootB, at("10", protB))}, story.ACSIOMMU},
		"clocks that differ by little say nothing": {[]string{join(bootA, bootB, at("10", retryA),
			at("11", cudaB))}, story.CUDAError},
		"a watchdog is never the first": {[]string{join(bootA, bootB, dogA, retryA)}, story.RouteOrARP},
		"a watchdog alone":              {[]string{join(bootA, bootB, dogA)}, story.HangTimeout},
		"files of ranks in the order of victim, culprit": {[]string{join(bootA, closeA, dogA), join(bootB, protB)},
			story.ACSIOMMU},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]story.CauseID{c.want}, firstCauses(c.files...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMachinesDecide(t *testing.T) {
	regMR := "a:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\na:1:9 [0] " +
		"misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory\n"
	prot := join(bootA, bootB, strings.Replace(protB, "%t", "", 1))
	noDevice := "a:1:1 [0] NCCL INFO NET/IB : No device found.\na:1:1 [0] NCCL INFO Using network Socket\n"
	failed := func(id check.ID, summary string) Machine {
		return Machine{Name: "node-1", Report: check.Report{
			Findings: []check.Finding{{Check: id, Status: check.Warn, Summary: summary}},
		}}
	}
	passed := func(ids ...check.ID) Machine { return Machine{Name: "node-1", Report: check.Report{Passed: ids}} }
	for name, c := range map[string]struct {
		log     string
		machine Machine
		want    []string // the first cause, its confidence, and a word of its summary
	}{
		"a small limit": {regMR, failed("memlock-limit", "it is 64 KiB"),
			[]string{"memlock", "certain", "node-1: it is 64 KiB"}},
		"no limit": {regMR, passed("memlock-limit"),
			[]string{"kernel-regression", "possible", "high enough"}},
		"an IOMMU that translates": {prot, failed("iommu-passthrough", "it translates"),
			[]string{"acs-iommu", "certain", "it translates"}},
		"an IOMMU that does not": {prot, passed("iommu-passthrough"), []string{"acs-iommu", "likely", "only be ACS"}},
		"no device in the machine": {noDevice, failed("port-active", "the port is DOWN"),
			[]string{"no-ib-device", "certain", "DOWN"}},
		"a device that may be used": {noDevice, passed("device-allocated"),
			[]string{"hca-filter", "possible", "hides them"}},
		"one of the devices is down": {noDevice, Machine{Report: check.Report{
			Findings: failed("port-active", "one port is DOWN").Report.Findings, Passed: []check.ID{"device-allocated"},
		}}, []string{"hca-filter", "possible", "hides them"}},
		"a machine that tells less": {regMR, Machine{}, []string{"memlock", "likely", "ibv_reg_mr_iova2"}},
	} {
		t.Run(name, func(t *testing.T) {
			causes := Log(parsed("a.log", []byte(c.log)), c.machine).Runs[0].Causes
			if len(causes) == 0 {
				t.Fatal("no cause")
			}
			got := []string{string(causes[0].ID), string(causes[0].Confidence), c.want[2]}
			if !strings.Contains(causes[0].Summary, c.want[2]) {
				got[2] = causes[0].Summary
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
