package rules

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/story"
)

// A run over TCP can never pass as RDMA, nor the other way round.
func TestTransport(t *testing.T) {
	const gib, unseen = 1 << 30, -1 // 20 iterations of 1 GiB: a node sends 10 GiB or more
	by := func(t story.Transport) story.Run {
		return story.Run{Network: story.Network{Transport: t}, Traffic: story.Traffic{Channels: 8}}
	}
	rdma, tcp := by(story.RDMA), by(story.TCP)
	for name, c := range map[string]struct {
		mode   string
		ports  int64
		log    story.Run
		failed string // part of it; "": it passes
		proof  string
	}{
		"RDMA by the log, counters hidden":            {"rdma", unseen, rdma, "", ""},
		"RDMA by the log and the counters":            {"rdma", 40 * gib, rdma, "", ""},
		"RDMA by the log, and the counters stood":     {"rdma", 0, rdma, "sent only 0.0 MiB of at least 10.0 GiB", ""},
		"TCP by the log":                              {"rdma", unseen, tcp, "the run was set to RDMA, but used TCP", ""},
		"TCP by the log, whatever the counters say":   {"rdma", 40 * gib, tcp, "the run was set to RDMA, but used TCP", ""},
		"one rank on TCP":                             {"rdma", 40 * gib, by(story.MixedTransport), "but used mixed", ""},
		"NVLink between the nodes":                    {"rdma", unseen, by(story.NVLink), "no NIC was measured", ""},
		"connections were never set up":               {"rdma", unseen, by(story.Unconnected), "neither NCCL's log nor the port counters prove", ""},
		"each pod by itself":                          {"rdma", unseen, by(story.NoTransport), "no NIC was measured", ""},
		"no log, counters moved":                      {"rdma", 40 * gib, story.Run{}, "", "port_xmit_data: the RDMA ports of every node sent 40.0 GiB or more"},
		"no log, counters hidden":                     {"rdma", unseen, story.Run{}, "neither NCCL's log nor the port counters prove", ""},
		"a plugin of an unknown kind":                 {"rdma", unseen, by(story.Plugin), "neither NCCL's log nor the port counters prove", ""},
		"TCP as asked for":                            {"tcp", unseen, tcp, "", ""},
		"TCP as asked for, ports idle":                {"tcp", 4096, tcp, "", ""},
		"RDMA where TCP was asked for":                {"tcp", unseen, rdma, "does not show that it used TCP", ""},
		"TCP by the log, and the RDMA ports moved it": {"tcp", 40 * gib, tcp, "the RDMA ports of every node sent 40.0 GiB", ""},
		"RDMA chosen, no channel seen":                {"rdma", unseen, story.Run{Network: story.Network{Transport: story.RDMA}}, "neither NCCL's log", ""},
		"TCP chosen, no channel seen":                 {"tcp", unseen, story.Run{Network: story.Network{Transport: story.TCP}}, "does not show that it used TCP", ""},
		"TCP asked for, no log":                       {"tcp", unseen, story.Run{}, "does not show that it used TCP", ""},
	} {
		run := bench.AllReduceRun{Mode: c.mode, PortBytes: c.ports, Sizes: []bench.SizedRate{{Bytes: gib, Busbw: 90}}}
		got := Transport(run, c.log)
		if (got.Failed == "") != (c.failed == "") || !strings.Contains(got.Failed, c.failed) || got.Proof != c.proof || got.Network == "" {
			t.Errorf("%s: failed %q, proof %q, network %q", name, got.Failed, got.Proof, got.Network)
		}
	}
	if got := Transport(bench.AllReduceRun{Failed: "exit code 1"}, tcp); got.Failed != "exit code 1" {
		t.Errorf("the first reason is lost: %s", got.Failed)
	}
}
