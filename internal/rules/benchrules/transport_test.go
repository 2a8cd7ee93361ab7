package benchrules

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/story"
)

// A run over TCP never passes as RDMA, and vice versa.
func TestJudgeTransport(t *testing.T) {
	const gib, unseen = 1 << 30, -1 // 20 iterations of 1 GiB: a node sends 10 GiB or more
	by := func(t story.Transport) story.Run {
		return story.Run{Network: story.Network{Transport: t}, Traffic: story.Traffic{Channels: 8}}
	}
	without := func(t story.Transport) story.Run { return story.Run{Network: story.Network{Transport: t}} }
	rdma, tcp := by(story.RDMA), by(story.TCP)
	const (
		usedTCP  = "the run was set to RDMA, but used TCP"
		unproven = "neither NCCL's log nor the port counters nor the kernel's queue pairs prove"
		sent     = "port_xmit_data: the RDMA ports of every node sent 40 GiB or more"
	)
	for name, c := range map[string]struct {
		mode   string
		ports  int64
		log    story.Run
		failed string // part of it; "": it passes
		proof  string
	}{
		"RDMA by the log, counters hidden":            {mode: "rdma", ports: unseen, log: rdma},
		"RDMA by the log and the counters":            {mode: "rdma", ports: 40 * gib, log: rdma},
		"RDMA by the log, but the ports sent nothing": {"rdma", 0, rdma, "sent only 0 B of at least 10 GiB", ""},
		"TCP by the log":                              {"rdma", unseen, tcp, usedTCP, ""},
		"TCP by the log, although the ports sent":     {"rdma", 40 * gib, tcp, usedTCP, ""},
		"one rank on TCP":                             {"rdma", 40 * gib, by(story.MixedTransport), "but used mixed", ""},
		"connections were never set up":               {"rdma", unseen, by(story.Unconnected), unproven, ""},
		"each pod separately":                         {"rdma", unseen, by(story.NoTransport), "no NIC was measured", ""},
		"no log, but the ports sent":                  {"rdma", 40 * gib, story.Run{}, "", sent},
		"no log, counters hidden":                     {"rdma", unseen, story.Run{}, unproven, ""},
		"an unknown plugin":                           {"rdma", unseen, by(story.Plugin), unproven, ""},
		"RDMA without a channel":                      {"rdma", unseen, without(story.RDMA), unproven, ""},
		"TCP on purpose":                              {mode: "tcp", ports: unseen, log: tcp},
		"TCP on purpose, ports idle":                  {mode: "tcp", ports: 4096, log: tcp},
		"RDMA instead of TCP":                         {"tcp", unseen, rdma, "does not show that it used TCP", ""},
		"TCP by the log, but the ports sent": {"tcp", 40 * gib, tcp,
			"the RDMA ports of every node sent 40 GiB", ""},
		"TCP without a channel":  {"tcp", unseen, without(story.TCP), "does not show that it used TCP", ""},
		"TCP on purpose, no log": {"tcp", unseen, story.Run{}, "does not show that it used TCP", ""},
	} {
		run := bench.AllReduceRun{Mode: c.mode, PortBytes: c.ports, Sizes: []bench.SizedRate{{Bytes: gib, Busbw: 90}}}
		got := JudgeTransport(run, c.log, "")
		failed := (got.Failed == "") == (c.failed == "") && strings.Contains(got.Failed, c.failed)
		if !failed || got.Proof != c.proof || got.Network == "" {
			t.Errorf("%s: failed %q, proof %q, network %q", name, got.Failed, got.Proof, got.Network)
		}
	}
	if got := JudgeTransport(bench.AllReduceRun{Failed: "exit code 1"}, tcp, ""); got.Failed != "exit code 1" {
		t.Errorf("the first reason is lost: %s", got.Failed)
	}
	if got := JudgeTransport(bench.AllReduceRun{Mode: "rdma"}, by(story.NVLink), ""); got.Failed != "" ||
		!strings.Contains(got.Skipped, "no NIC was measured") {
		t.Errorf("NVLink between the nodes: failed %q, skipped %q", got.Failed, got.Skipped)
	}
}

// Queue pairs prove RDMA where neither the log nor the counters tell, and never against them.
func TestJudgeTransportByQueuePairs(t *testing.T) {
	const proof = "RDMA: 16 processes on 8 rails of 2 pods, by the kernel's queue pairs"
	for name, c := range map[string]struct {
		mode  string
		ports int64
		log   story.Transport
		want  bool
	}{
		"a plugin":                           {"rdma", -1, story.Plugin, true},
		"no log":                             {"rdma", -1, story.UnknownTransport, true},
		"connections were never set up":      {"rdma", -1, story.Unconnected, false},
		"TCP by the log":                     {"rdma", -1, story.TCP, false},
		"the ports sent nothing":             {"rdma", 0, story.Plugin, false},
		"the run was set to TCP, and no log": {"tcp", -1, story.UnknownTransport, false},
	} {
		sizes := []bench.SizedRate{{Bytes: 1 << 30, Busbw: 90}}
		run := bench.AllReduceRun{Mode: c.mode, PortBytes: c.ports, Sizes: sizes}
		got := JudgeTransport(run, story.Run{Network: story.Network{Transport: c.log}}, proof)
		if (got.Failed == "") != c.want || (got.Proof == proof) != c.want {
			t.Errorf("%s: failed %q, proof %q", name, got.Failed, got.Proof)
		}
	}
}
