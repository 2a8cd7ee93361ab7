package nccllog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// corpus is a folder of logs that nobody here wrote, which a checkout may have beside it.
const corpus = "../../../shared/corpus/nccl"

// want is what the logs of the corpus show of the network between nodes; all others show no channel.
var want = map[string]Network{
	"008-a100pcie-single-node-roce-2.27.7.log":   OneNode,
	"009-a100pcie-single-node-roce-2.27.7-b.log": OneNode,
	"004-nersc-pm-shifter-create-cq.log":         RDMA, // set up before the queue failed
	"022-nccltests373-ibdisable-not-applied.log": RDMA, // one rank of three: another is on another network
	"091-h20-ib-gdrdma-2node.log":                RDMA,
}

func TestCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus, "*.log"))
	if err != nil || len(files) == 0 {
		t.Skip("the corpus is not beside this checkout")
	}
	got, expected := map[string]Network{}, map[string]Network{}
	for _, file := range files {
		name := filepath.Base(file)
		expected[name] = want[name]
		v := readFile(t, file).Verdict()
		got[name] = v.Network
		t.Logf("%s: %s", name, v)
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Error(diff)
	}
}

func readFile(t *testing.T, file string) Log {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var p Parser
	if _, err := p.Read(filepath.Base(file), f); err != nil {
		t.Fatal(err)
	}
	return p.Log()
}
