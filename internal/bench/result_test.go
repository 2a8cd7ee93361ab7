package bench

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// TestResultJSON holds the form of a result, which files have and other programs read.
func TestResultJSON(t *testing.T) {
	r := Result{
		SchemaVersion: ResultVersion, Begun: time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC), Seconds: 12.5, Namespace: "train", Job: "h-kim", MinEfficiency: 0.9,
		Pods: []Pod{{Name: "h-kim-0", Node: "gpu-1", IP: "10.128.2.10", Tools: Tools{IBWriteBW}, Rails: []PodRail{{
			Name: "eno5np0", Device: "mlx5_6", Port: 1, Netdev: "net1", Address: "192.168.1.10", GID: 3, Rate: 400, Layer: RoCEv2, MTU: 4096,
			Ceiling: Ceiling{Rate: 392, By: ByLink, Link: 392, PCIe: host.Know(Gbps(424))}, NUMA: host.Know(1), GPU: host.Know(0),
		}}}},
		Ladders: []PairLadder{{To: End{1, 0}, State: check.Pass, Steps: Ladder{
			{Name: WriteHost, Measured: host.Know(Gbps(391)), Ceiling: 392, By: ByLink, Tool: "ib_write_bw -s 65536 -q 4"}, {Name: TCPPod, Skipped: "no iperf3"},
		}}},
		AllReduces: []AllReduceRun{{Mode: "rdma", Algorithm: "Ring", Tool: "torch", Ranks: 2, Nodes: 2, Sizes: []SizedRate{{8, 1, 1}}, Ceiling: 49, PortBytes: -1}},
		Series:     []Series{{"x, Gb/s", []float64{391}}}, Skipped: []string{"y"},
	}
	const want = `{"schemaVersion":2,"begun":"2026-11-21T15:00:00Z","seconds":12.5,"namespace":"train","job":"h-kim","minEfficiency":0.9,` +
		`"pods":[{"name":"h-kim-0","node":"gpu-1","ip":"10.128.2.10","tools":["ib_write_bw"],"rails":[{"name":"eno5np0","device":"mlx5_6","port":1,"netdev":"net1",` +
		`"address":"192.168.1.10","gid":3,"rateGbps":400,"layer":"RoCE v2/IPv4","mtu":4096,"ceiling":{"gbps":392,"by":"link","linkGbps":392,"pcieGbps":424},"numaNode":1,"gpu":0}]}],` +
		`"ladders":[{"from":{"pod":0,"rail":0},"to":{"pod":1,"rail":0},"steps":[{"name":"RDMA write, host memory","gbps":391,"ceiling":392,"by":"link","tool":"ib_write_bw -s 65536 -q 4"},` +
		`{"name":"TCP over the pod network","skipped":"no iperf3"}],"status":"pass"}],` +
		`"allReduces":[{"mode":"rdma","algorithm":"Ring","tool":"torch","ranks":2,"nodes":2,"sizes":[{"bytes":8,"algGBps":1,"busGBps":1}],"ceilingGBps":49,"portBytes":-1}],` +
		`"series":[{"name":"x, Gb/s","values":[391]}],"skipped":["y"]}`
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	var again Result
	if err := json.NewDecoder(bytes.NewReader([]byte(want[:len(want)-1] + `,"later":1}`))).Decode(&again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, again); d != "" {
		t.Errorf("read back: %s", d)
	}
}
