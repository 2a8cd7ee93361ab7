package bench

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

var (
	gen5 = Slot{GTs: 32, Lanes: 16}
	gen4 = Slot{GTs: 16, Lanes: 16}
)

// The numbers are the field's: 392 and 370 Gb/s of payload on 400G RoCE, 397 on NDR, 200 to 212 Gb/s of a Gen4 x16 slot.
func TestCeiling(t *testing.T) {
	for name, c := range map[string]struct {
		path Path
		want string
	}{
		"400G RoCE, MTU 4096":              {Path{400, RoCEv2, 4096, gen5}, "392.1 Gb/s by link"},
		"400G RoCE, interface of MTU 1500": {Path{400, RoCEv2, rail.RDMAMTU(1500), gen5}, "370.3 Gb/s by link"},
		"400G RoCE over IPv6":              {Path{400, RoCEv2IPv6, 4096, gen5}, "390.3 Gb/s by link"},
		"NDR":                              {Path{400, InfiniBand, 4096, gen5}, "397.5 Gb/s by link"},
		"400G in a Gen4 slot":              {Path{400, RoCEv2, 4096, gen4}, "211.9 Gb/s by PCIe slot"},
		"400G in a Gen5 x8 slot":           {Path{400, RoCEv2, 4096, Slot{GTs: 32, Lanes: 8}}, "211.9 Gb/s by PCIe slot"},
		"200G in a Gen4 slot":              {Path{200, RoCEv2, 4096, gen4}, "196.1 Gb/s by link"},
		"100G, slot not known":             {Path{100, RoCEv2, 4096, Slot{}}, "98.0 Gb/s by link"},
		"100G in a Gen3 slot":              {Path{100, RoCEv2, 4096, Slot{GTs: 8, Lanes: 16}}, "98.0 Gb/s by link"},
		"800G in a Gen6 slot":              {Path{800, InfiniBand, 4096, Slot{GTs: 64, Lanes: 16}}, "795.0 Gb/s by link"},
		"TCP of MTU 1500 on 100G":          {Path{100, TCP, 1500, Slot{}}, "94.1 Gb/s by link"},
		"TCP of MTU 9000 on 100G":          {Path{100, TCP, 9000, Slot{}}, "99.0 Gb/s by link"},
	} {
		got, err := c.path.Ceiling()
		if s := fmt.Sprintf("%s by %s", got.Rate, got.By); err != nil || s != c.want {
			t.Errorf("%s: %s, %v; want %s", name, s, err, c.want)
		}
	}
	for name, p := range map[string]Path{
		"no rate":          {0, RoCEv2, 4096, gen5},
		"no MTU":           {400, RoCEv2, 0, gen5},
		"MTU below header": {400, TCP, 40, gen5},
		"no layer":         {400, "", 4096, gen5},
	} {
		if got, err := p.Ceiling(); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPCIe(t *testing.T) {
	for name, c := range map[string]struct {
		slot         Slot
		raw, payload GBps // GB/s
	}{
		"Gen3 x8":                        {Slot{8, 8, 256}, 7.88, 6.62},
		"Gen4":                           {Slot{16, 16, 256}, 31.51, 26.48},
		"Gen5":                           {Slot{32, 16, 256}, 63.02, 52.96},
		"Gen5 with packets of 512 bytes": {Slot{32, 16, 512}, 63.02, 55.34},
		"Gen2 x8":                        {Slot{5, 8, 256}, 4, 3.36},
		"Gen6":                           {Slot{64, 16, 256}, 128, 111.06},
	} {
		raw, known := c.slot.Raw()
		payload, also := c.slot.Payload()
		if !known || !also || math.Abs(float64(raw.GBps()-c.raw)) > .01 || math.Abs(float64(payload.GBps()-c.payload)) > .01 {
			t.Errorf("%s: raw %v, payload %v; want %v, %v", name, raw.GBps(), payload.GBps(), c.raw, c.payload)
		}
	}
	if got, known := (Slot{GTs: 32}).Payload(); known {
		t.Errorf("slot of unknown width: %v", got)
	}
}

// What was published of healthy machines is below the ceiling and within the usual gate of 0.9 of it.
func TestPublishedNumbers(t *testing.T) {
	const gate = 0.9
	ndr, roce := Path{400, InfiniBand, 4096, gen5}, Path{400, RoCEv2, 4096, gen5}
	for name, c := range map[string]struct {
		path     Path
		rails    int
		measured Gbps
		healthy  bool
	}{
		"ib_write_bw 400G RoCE, H100":            {roce, 1, 392, true},
		"ib_write_bw NDR, 4 QP":                  {ndr, 1, 395.1, true},
		"ib_write_bw NDR, 8 NICs":                {ndr, 8, 3160, true},
		"nccl 1x100G":                            {Path{100, RoCEv2, 4096, Slot{}}, 1, GBps(12.2).Gbps(), true},
		"nccl 400G NIC":                          {ndr, 1, GBps(48).Gbps(), true},
		"64x H100 ring":                          {ndr, 8, GBps(386.6).Gbps(), true},
		"4x200G GH200 with GPUDirect":            {Path{200, RoCEv2, 4096, gen5}, 4, GBps(96.1).Gbps(), true},
		"4x200G GH200 without":                   {Path{200, RoCEv2, 4096, gen5}, 4, GBps(79.7).Gbps(), false},
		"2x200G A100 in a VM, ACS in the way":    {Path{200, RoCEv2, 4096, gen4}, 2, GBps(27).Gbps(), false},
		"8x400G RoCE, broken":                    {roce, 8, GBps(231).Gbps(), false},
		"8x400G in VMs, perftest at line rate":   {roce, 8, GBps(155).Gbps(), false},
		"NVIDIA/nccl 4x400G, 83 GiB/s":           {roce, 4, GiBps(83).GBps().Gbps(), false},
		"loopback of 200G, not pinned to a node": {Path{200, InfiniBand, 4096, gen4}, 1, 30, false},
	} {
		one, err := c.path.Ceiling()
		if err != nil {
			t.Fatal(err)
		}
		efficiency := float64(c.measured) / float64(one.Rate*Gbps(c.rails))
		if efficiency > 1.0001 || (efficiency >= gate) != c.healthy {
			t.Errorf("%s: %.3f of %v, healthy %v", name, efficiency, one.Rate*Gbps(c.rails), c.healthy)
		}
	}
}

func TestUnits(t *testing.T) {
	for want, got := range map[string]string{
		"89.1 GB/s":  GiBps(83).GBps().String(),
		"83.0 GiB/s": GBps(89.12).GiBps().String(),
		"1.05 GB/s":  GiBps(0.98).GBps().String(),
		"50.0 GB/s":  Gbps(400).GBps().String(),
		"12.2 GiB/s": GiBps(12.2).String(),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRingCeiling(t *testing.T) {
	rails := func(n int, rate Gbps) []Ceiling {
		all := make([]Ceiling, n)
		for i := range all {
			all[i].Rate = rate
		}
		return all
	}
	got, err := RingCeiling([][]Ceiling{rails(8, 392), rails(8, 392), rails(7, 392)})
	if err != nil || got != 343 {
		t.Errorf("a node has a rail less: %v, %v", got, err)
	}
	unknown := rails(8, 392)
	unknown[7] = Ceiling{}
	if got, err := RingCeiling([][]Ceiling{rails(8, 392), unknown}); err == nil {
		t.Errorf("the ceiling of a rail is unknown: %v", got)
	}
	if got, err := RingCeiling([][]Ceiling{rails(8, 392)}); err == nil {
		t.Errorf("one node: %v", got)
	}
	if got := Between(Ceiling{Rate: 392}, Ceiling{Rate: 212, By: ByPCIe}); got.Rate != 212 || got.By != ByPCIe {
		t.Errorf("%+v", got)
	}
}

func TestLadder(t *testing.T) {
	step := func(name StepName, measured, ceiling Gbps) Step {
		return Step{Name: name, Measured: host.Know(measured), Ceiling: ceiling}
	}
	healthy := Ladder{step(WriteHost, 391, 392), step(WriteGPU, 389, 392), step(AllRails, 3100, 3136), step(NCCLRing, 3000, 3136)}
	slowGPU := Ladder{step(WriteHost, 391, 392), step(WriteGPU, 196, 392), step(AllRails, 1500, 3136)}
	dead := Ladder{{Name: WriteHost, Ceiling: 392, Failed: "it ended with 0 iterations"}, step(NCCLRing, 10, 3136)}
	tcpOnly := Ladder{{Name: WriteHost, Skipped: "no perftest in the image"}, step(TCPPod, 8.4, 98), step(NCCLOwn, 9, 98)}
	for name, c := range map[string]struct {
		ladder Ladder
		want   check.Status
		gap    *Gap
	}{
		"all near the ceiling": {healthy, check.Pass, nil},
		"GPUDirect is broken": {slowGPU, check.Fail, &Gap{
			slowGPU[1], 0.5, 196, "GPUDirect RDMA: the path between GPU and NIC",
		}},
		"the path is dead":         {dead, check.Fail, &Gap{dead[0], 0, 392, "the wire, the NIC or its PCIe slot"}},
		"nothing could be judged":  {tcpOnly, check.Unknown, nil},
		"nothing was tried at all": {nil, check.Unknown, nil},
	} {
		status, gap := c.ladder.Judge(Gate{Efficiency: 0.9})
		if d := cmp.Diff(c.gap, gap); status != c.want || d != "" {
			t.Errorf("%s: %v %s", name, status, d)
		}
	}
	both := Ladder{step(WriteHost, 392, 392), step(TCPPod, 8, 98), step(TCPRail, 160, 196), {Name: TCPRail, Skipped: "x"}}
	if d := cmp.Diff([]Factor{{TCPPod, 49}, {TCPRail, 2.45}}, both.Factors()); d != "" {
		t.Error(d)
	}
	if got := tcpOnly.Factors(); got != nil {
		t.Errorf("TCP without RDMA: %+v", got)
	}
}
