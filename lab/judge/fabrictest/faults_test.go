//go:build vm

package fabrictest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/fabric"
)

// symptom looks for what a fault does to RDMA and says what it saw; an error when there is nothing to see.
type symptom func(ctx context.Context, p pair) (string, error)

// trace tells how a fault shows.
type trace struct {
	symptom symptom
	says    string   // in `railhead-pod detect --explain`; "" where one pod by itself cannot see it
	within  []string // leads to where railhead-pod runs; nil: the machine itself
	alone   bool     // no rail is left, so `run` refuses to start, and --mode auto falls back to TCP loudly
}

// traces of the faults of machines, by their names.
var traces = map[string]trace{
	"vf-down":           {symptom: rdmaFails("Port number 1 state is Down"), says: "port 1 DOWN (Disabled) [port-active]"},
	"port-down":         {symptom: portDown, says: "port 1 DOWN (Polling) [port-active]"},
	"pf-down":           {symptom: rdmaFails("Port number 1 state is Down"), says: "port 1 DOWN (Polling) [port-active]"},
	"wrong-mac":         {symptom: rdmaHangs},
	"verbs-missing":     {symptom: rdmaFails("Unable to find the Infiniband/RoCE device"), says: "its verbs node is not in this container [uverbs-openable]", alone: true},
	"mtu":               {symptom: largePacketsLost},
	"no-address":        {symptom: rdmaFails("Found Incompatibility issue with GID types"), says: "only link-local GIDs: eno5np0v0 has no IP address [gid-usable]"},
	"link-local-only":   {symptom: rdmaFails("Found Incompatibility issue with GID types"), says: "only link-local GIDs: eno5np0v0 has no IP address [gid-usable]"},
	"duplicate-address": {symptom: rdmaHangs},
	"arp-flux":          {symptom: pingsAndHangs},
	"rail-isolation":    {symptom: crossRailHangs},
	"firewall":          {symptom: rdmaHangs},
	"packet-loss":       {symptom: packetsLost},
	"slow-rail":         {symptom: slow},

	"iommu-translated":     {symptom: groupsAre("DMA-FQ")},
	"iommu-translated-amd": {symptom: transmitHangs},
	"iommu-absent":         {symptom: groupsAreAbsent},
	"rdma-exclusive": {
		symptom: devicesAreElsewhere, within: []string{"ip", "netns", "exec", "pod"}, says: "[rdma-namespace]", alone: true,
	},
}

// TestFaults: every fault is really there, railhead-pod says what one pod can know of it, doctor names it, and it
// goes again.
func TestFaults(t *testing.T) {
	t.Parallel()
	p := faults(t, func(x fault.Fault) bool { return !x.Reboots })
	part(t, "wire", faultPart, p.wires)
	part(t, "wire costs", faultPart, p.wireCosts)
}

// TestBoots is of what a boot decides, in parallel with TestFaults: two labs at a time take less time than one after the other.
func TestBoots(t *testing.T) {
	t.Parallel()
	t.Run("faults", func(t *testing.T) { faults(t, func(x fault.Fault) bool { return x.Reboots }) })
	part(t, "IOMMU", faultPart, iommus)
}

func faults(t *testing.T, wanted func(fault.Fault) bool) pair {
	t.Helper()
	f := machines(t, fabric.Options{})
	p := pair{f, f.Machines[0], f.Machines[1]}
	p.heals(t)
	p.healthy(t)
	before := p.examined(t, nil)
	if fresh := beside(p.watched(t), before[fault.OnNode]); len(fresh) > 0 {
		t.Errorf("without a fault the counters say %v", fresh)
	}
	for _, x := range fault.All() {
		if x.Nodes || x.Namespace != "" || !wanted(x) {
			continue // TestCluster has a cluster for the first two
		}
		part(t, x.Name, faultPart, func(t *testing.T) {
			trace, ok := traces[x.Name]
			if !ok {
				t.Fatal("no row says what this fault leaves to see")
			}
			row := tells(t, x)
			if err := x.Make(t.Context(), fault.On(f, p.broken)); err != nil {
				t.Fatal(err)
			}
			row.made = true
			p.shows(t, trace, row)
			p.names(t, x, trace.within, before, row)
			recorded(t, p.broken, x.Name, x.Title, trace.within)
			if err := x.Heal(t.Context(), fault.On(f, p.broken)); err != nil {
				t.Fatal(err)
			}
			p.heals(t)
			p.calm(t, before)
			row.healed = true
		})
	}
	return p
}

// shows wants the fault to be seen, and railhead-pod to tell the truth about it.
func (p pair) shows(t *testing.T, want trace, row *story) {
	t.Helper()
	row.saw = p.sees(t, want.symptom)
	detect := p.railhead(t, want.within, "detect", "--explain")
	if !strings.Contains(detect.Stdout+detect.Stderr, want.says) {
		t.Errorf("detect does not say %q:\n%s%s", want.says, detect.Stdout, detect.Stderr)
	} else {
		row.said = want.says
	}
	if want.says != "" && detect.Code != 1 {
		t.Errorf("detect ends with %d", detect.Code)
	}
	const refused = 125
	run, auto := p.railhead(t, want.within, "run", "--rails", "any", "--", "true"), p.railhead(t, want.within, "run", "--mode", "auto", "--", "true")
	if (run.Code == refused) != want.alone {
		t.Errorf("run ends with %d:\n%s", run.Code, run.Stderr)
	}
	if strings.Contains(auto.Stderr, "NO RDMA: training runs over TCP") != want.alone || auto.Code != 0 {
		t.Errorf("run --mode auto ends with %d:\n%s", auto.Code, auto.Stderr)
	}
}

// sees waits for the symptom: what goes down takes a moment, and a driver may look at its link every few seconds only.
func (p pair) sees(t *testing.T, symptom symptom) string {
	t.Helper()
	const tries = 4
	late := time.Now().Add(patience)
	for i := 1; ; i++ {
		saw, err := symptom(t.Context(), p)
		if err == nil {
			return saw
		}
		if i >= tries && time.Now().After(late) {
			t.Errorf("the fault is not there: %v", err)
			return "nothing"
		}
	}
}

// heals waits until RDMA moves bytes over both rails again: links need a moment to come back.
func (p pair) heals(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for rail := range fabric.Rails() {
		for {
			_, err := p.bandwidth(ctx, rail)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				t.Fatalf("RDMA over rail %d: %v", rail, err)
			case <-time.After(time.Second):
			}
		}
	}
}

// rdmaFails wants that perftest fails at once and says why.
func rdmaFails(words string) symptom {
	return func(ctx context.Context, p pair) (string, error) {
		b, err := p.bandwidth(ctx, 0)
		if err == nil {
			return "", fmt.Errorf("RDMA moves %.1f MB/s", b.Average)
		}
		if !strings.Contains(err.Error(), words) {
			return "", fmt.Errorf("perftest says %w, not %s", err, words)
		}
		return words, nil
	}
}

// rdmaHangs wants that perftest begins, and nothing moves.
func rdmaHangs(ctx context.Context, p pair) (string, error) {
	b, err := p.bandwidth(ctx, 0)
	return dead(b.Average, err)
}
