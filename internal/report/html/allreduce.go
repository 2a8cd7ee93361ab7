package html

import (
	"cmp"
	"fmt"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// AllReduce is an all-reduce of the whole job in one mode.
type AllReduce struct {
	Mode    string  `json:"mode"`    // rdma, tcp
	Name    string  `json:"name"`    // RDMA, Ring
	Title   string  `json:"title"`   // RDMA: all_reduce_perf, 64 ranks on 8 nodes
	Ceiling float64 `json:"ceiling"` // GB/s; 0: not known
	Sizes   []Size  `json:"sizes"`
	Proof   string  `json:"proof"` // the network that it really used, with the proof
	Said    string  `json:"said,omitempty"`
	Failed  string  `json:"failed,omitempty"`
}

// Size is a message size with its rate.
type Size struct {
	Bytes int64   `json:"bytes"`
	Label string  `json:"label"` // 256 MiB
	Algbw float64 `json:"algbw"` // GB/s
	Busbw float64 `json:"busbw"`
}

func allReduceOf(a bench.AllReduceRun) AllReduce {
	out := AllReduce{Mode: a.Mode, Name: modeName(a.Mode), Ceiling: float64(a.Ceiling), Failed: cmp.Or(a.Failed, a.Skipped), Said: a.Proof}
	out.Title = modeName(a.Mode) + ": " + a.Tool
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
	switch {
	case a.Network == "":
		out.Proof = "no log proves which network was used"
	case a.PortBytes > 0:
		out.Proof = fmt.Sprintf("%s, by NCCL's log; the RDMA ports moved %s", a.Network, size(a.PortBytes))
	case a.PortBytes == 0:
		out.Proof = fmt.Sprintf("%s, by NCCL's log; the RDMA ports moved nothing", a.Network)
	default:
		out.Proof = a.Network + ", by NCCL's log; the ports' counters are not to be seen"
	}
	for _, s := range a.Sizes {
		out.Sizes = append(out.Sizes, Size{s.Bytes, size(s.Bytes), float64(s.Algbw), float64(s.Busbw)})
	}
	return out
}

func modeName(mode string) string {
	switch mode {
	case "rdma":
		return "RDMA"
	case "tcp":
		return "TCP"
	}
	return mode
}

// size writes bytes in the unit in which messages are spoken of.
func size(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(bytes), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return fmt.Sprintf("%.4g %s", v, units[i])
}

// best is the most busbw of all sizes.
func best(a bench.AllReduceRun) bench.SizedRate {
	var most bench.SizedRate
	for _, s := range a.Sizes {
		if s.Busbw > most.Busbw {
			most = s
		}
	}
	return most
}

// allReduceCards are the best of RDMA against its ceiling, and how much more it is than that of TCP.
func allReduceCards(runs []bench.AllReduceRun, least float64) []Card {
	var cards []Card
	var rdma, tcp bench.GBps
	for _, a := range runs {
		most := best(a)
		switch {
		case most.Busbw <= 0:
		case a.Mode == "tcp":
			tcp = most.Busbw
		default:
			rdma = most.Busbw
			note := fmt.Sprintf("busbw at %s; no ceiling is known", size(most.Bytes))
			if a.Ceiling > 0 {
				note = fmt.Sprintf("busbw at %s, %s of a ring's %s", size(most.Bytes), percent(float64(most.Busbw/a.Ceiling)), a.Ceiling)
			}
			cards = append(cards, Card{"All-reduce", most.Busbw.String(), note, judged(bench.Gate{Efficiency: least}, most.Busbw.Gbps(), a.Ceiling.Gbps(), 0)})
		}
	}
	if rdma > 0 && tcp > 0 {
		note := fmt.Sprintf("%s with RDMA, %s with NCCL over TCP: the same job", rdma, tcp)
		cards = append(cards, Card{"All-reduce, RDMA against TCP", fmt.Sprintf("%.1f×", float64(rdma/tcp)), note, check.Skipped})
	}
	return cards
}
