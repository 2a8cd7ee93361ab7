package html

import (
	"cmp"
	"fmt"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/words"
)

// AllReduce is an all-reduce of the whole job in one mode.
type AllReduce struct {
	Mode    string  `json:"mode"` // rdma, tcp
	Name    string  `json:"name"` // RDMA, Ring
	Title   string  `json:"-"`    // RDMA: all_reduce_perf, 64 ranks on 8 nodes
	Ceiling float64 `json:"ceiling"`
	Sizes   []Size  `json:"sizes"`
	Network string  `json:"-"` // used, according to NCCL's log and the port counters
	Proof   string  `json:"-"` // the line of NCCL's log
	Failed  string  `json:"-"`
}

// Size is a message size with its rates in GB/s.
type Size struct {
	Bytes int64   `json:"bytes"`
	Label string  `json:"label"` // 256 MiB
	Algbw float64 `json:"-"`
	Busbw float64 `json:"busbw"`
}

func allReduceOf(a bench.AllReduceRun) AllReduce {
	name := map[string]string{"rdma": "RDMA", "tcp": "TCP"}[a.Mode]
	out := AllReduce{
		Mode:    a.Mode,
		Name:    cmp.Or(name, a.Mode),
		Ceiling: float64(a.Ceiling),
		Network: networkOf(a),
		Proof:   a.Proof,
		Failed:  cmp.Or(a.Failed, a.Skipped),
	}
	out.Title = out.Name + ": " + a.Tool
	if a.Algorithm != "" {
		out.Name += ", " + a.Algorithm
		out.Title += ", " + a.Algorithm
	}
	if a.Ranks > 0 {
		out.Title += ", " + number(a.Ranks, "rank")
	}
	if a.Nodes > 0 {
		out.Title += " on " + number(a.Nodes, "node")
	}
	for _, s := range a.Sizes {
		out.Sizes = append(out.Sizes, Size{s.Bytes, words.Bytes(s.Bytes), float64(s.Algbw), float64(s.Busbw)})
	}
	return out
}

func networkOf(a bench.AllReduceRun) string {
	if a.Network == "" {
		return "unknown: no log shows which network was used"
	}
	counters := "the RDMA ports sent " + words.Bytes(a.PortBytes)
	switch {
	case a.PortBytes == 0:
		counters = "the RDMA ports sent no data"
	case a.PortBytes < 0:
		counters = "the port counters are not visible"
	}
	return fmt.Sprintf("%s, according to NCCL's log; %s", a.Network, counters)
}

// allReduceCards compares the busbw over RDMA with its ceiling and with TCP.
func allReduceCards(runs []bench.AllReduceRun, gate bench.Gate) []Card {
	var cards []Card
	for _, a := range runs {
		best, measured := a.Best()
		if !measured || a.Mode == "tcp" {
			continue
		}
		reached := "ceiling unknown"
		if a.Ceiling > 0 {
			part := report.Percent(float64(best.Busbw / a.Ceiling))
			reached = fmt.Sprintf("%s of the ring's ceiling, %s", part, a.Ceiling)
		}
		cards = append(cards, Card{
			Label:  "All-reduce",
			Value:  best.Busbw.String(),
			Note:   fmt.Sprintf("busbw at %s; %s", words.Bytes(best.Bytes), reached),
			Status: judged(bench.Gate{Efficiency: gate.Efficiency}, best.Busbw.Gbps(), a.Ceiling.Gbps(), 0),
		})
	}
	if f, ok := bench.AllReduceFactor(runs); ok {
		cards = append(cards, Card{
			Label:  "All-reduce, RDMA vs. TCP",
			Value:  fmt.Sprintf("%.1f×", f.Times),
			Note:   fmt.Sprintf("%s over RDMA, %s over TCP, at %s", f.RDMA, f.TCP, words.Bytes(f.Bytes)),
			Status: check.Skipped,
		})
	}
	return cards
}
