package rules

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/nccllog"
)

// A run over TCP can never pass as RDMA, nor the other way round.
func TestTransport(t *testing.T) {
	const gib, unseen = 1 << 30, -1 // 20 iterations of 1 GiB: a node sends 10 GiB or more
	rdma := nccllog.Verdict{Network: nccllog.RDMA, Names: []string{"IB"}, Channels: 8}
	tcp := nccllog.Verdict{Network: nccllog.TCP, Names: []string{"Socket"}, Channels: 8}
	for name, c := range map[string]struct {
		mode   string
		ports  int64
		log    nccllog.Verdict
		failed string // part of it; "": it passes
		proof  string
	}{
		"RDMA by the log, counters hidden":            {"rdma", unseen, rdma, "", ""},
		"RDMA by the log and the counters":            {"rdma", 40 * gib, rdma, "", ""},
		"RDMA by the log, and the counters stood":     {"rdma", 0, rdma, "sent 0.0 MiB of at least 10.0 GiB", ""},
		"TCP by the log":                              {"rdma", unseen, tcp, "it was to use RDMA, and used TCP", ""},
		"TCP by the log, whatever the counters say":   {"rdma", 40 * gib, tcp, "it was to use RDMA, and used TCP", ""},
		"one rank on TCP":                             {"rdma", 40 * gib, nccllog.Verdict{Network: nccllog.Mixed}, "and used mixed", ""},
		"NVLink between the nodes":                    {"rdma", unseen, nccllog.Verdict{Network: nccllog.NVLink}, "no NIC was measured", ""},
		"each pod by itself":                          {"rdma", unseen, nccllog.Verdict{Network: nccllog.OneNode}, "no NIC was measured", ""},
		"no log, counters moved":                      {"rdma", 40 * gib, nccllog.Verdict{}, "", "port_xmit_data: the RDMA ports of every node sent 40.0 GiB or more"},
		"no log, counters hidden":                     {"rdma", unseen, nccllog.Verdict{}, "not proven", ""},
		"a plugin of an unknown kind":                 {"rdma", unseen, nccllog.Verdict{Network: nccllog.Plugin, Names: []string{"X"}}, "not proven", ""},
		"TCP as asked for":                            {"tcp", unseen, tcp, "", ""},
		"TCP as asked for, ports idle":                {"tcp", 4096, tcp, "", ""},
		"RDMA where TCP was asked for":                {"tcp", unseen, rdma, "does not show that it did", ""},
		"TCP by the log, and the RDMA ports moved it": {"tcp", 40 * gib, tcp, "the RDMA ports of every node sent 40.0 GiB", ""},
		"TCP asked for, no log":                       {"tcp", unseen, nccllog.Verdict{}, "does not show that it did", ""},
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
