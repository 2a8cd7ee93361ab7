package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/story"
)

func TestStoryWriter(t *testing.T) {
	used, unused := true, false
	at := func(line int, text string) story.Evidence {
		return story.Evidence{File: "train.log", Line: line, Text: text}
	}
	healthy := story.Run{
		NCCLVersion: "2.28.9+cuda12.9", Ranks: 16, Nodes: 2, GPUDirect: story.GPUDirectYes, Outcome: story.OutcomeOK, Ended: true,
		Network: story.Network{
			Name: "IBext_v11", Kind: story.RoCE, LinkLayer: "RoCE", Used: &used, Why: "64 channels between nodes",
			Evidence: []story.Evidence{at(7, "a"), at(8, "b"), at(9, "c"), at(10, "d"), at(11, "e")},
		},
	}
	running := healthy
	running.Network.Evidence, running.Ended = nil, false
	alone := story.Run{
		NCCLVersion: "2.28.9", Ranks: 8, Nodes: 1, Outcome: story.OutcomeOK,
		Network: story.Network{Kind: story.UnknownNetwork, Transport: story.NoTransport, Why: "no network was needed"},
	}
	restarted := story.Run{
		NCCLVersion: "unknown", Outcome: story.OutcomeOK, Ended: true, Survived: []story.Evidence{at(9, "exitcode: 1")},
		Network: story.Network{Kind: story.UnknownNetwork, Why: "no line shows it"},
	}
	failed := story.Run{
		NCCLVersion: "unknown", GPUDirect: story.GPUDirectUnknown,
		Outcome: story.OutcomeFail, Summary: "rank 3 failed first",
		Network: story.Network{Kind: story.Socket, Used: &unused},
		Differences: []story.Difference{{What: "network", Groups: []story.Group{
			{Value: "IB", Ranks: 15, Who: []string{"n0", "n1"}}, {Value: "Socket", Ranks: 1, Who: []string{"n2"}},
		}}},
		Causes: []story.Cause{
			{
				ID: story.Memlock, Confidence: story.Certain, Network: true, Summary: "the limit is 64 KiB",
				Evidence:   []story.Evidence{at(3, "Call to ibv_reg_mr failed\x1b[31m")},
				Fix:        "Raise it:\nulimit -l unlimited",
				Experiment: "prlimit",
			},
			{ID: story.GPUOOM, Confidence: story.Possible, Summary: "the GPU has no memory left"},
		},
		Victims: []story.Victim{{Who: "7 ranks", What: "connection closed", Of: "rank 3", Evidence: at(20, "x")}},
	}
	for name, test := range map[string]struct {
		story story.Story
		want  string
	}{
		"nothing": {story.Story{}, "No log was read.\n"},
		"healthy": {story.Story{Runs: []story.Run{healthy}}, `Ran:       NCCL 2.28.9+cuda12.9, 16 ranks on 2 nodes
Network:   IBext_v11 (RoCE), used: 64 channels between nodes
      train.log:7  a
      train.log:8  b
      train.log:9  c
      and 2 more lines
GPUDirect: yes
Outcome:   ok: no line reports a fault
`},
		"not ended": {story.Story{Runs: []story.Run{running}}, `Ran:       NCCL 2.28.9+cuda12.9, 16 ranks on 2 nodes
Network:   IBext_v11 (RoCE), used: 64 channels between nodes
GPUDirect: yes
Outcome:   ok: no line reports a fault, and no line shows its end; if it hangs, 'railhead wire' shows whether data moves
`},
		"restarted": {story.Story{Runs: []story.Run{restarted}}, `Ran:       unknown: no line shows NCCL's version or the number of ranks
Network:   unknown: no line shows it
GPUDirect: 
Outcome:   ok: the run went on after each fault that a line reports
      train.log:9  exitcode: 1
`},
		"not ended, on one node": {story.Story{Runs: []story.Run{alone}}, `Ran:       NCCL 2.28.9, 8 ranks on 1 node
Network:   no network was needed
GPUDirect: not needed on one node
Outcome:   ok: no line reports a fault, and no line shows its end
`},
		"failed, then healthy": {story.Story{Runs: []story.Run{failed, {Ranks: 1}}}, `Run 1 of 2
Ran:       unknown: no line shows NCCL's version or the number of ranks
Network:   Socket, not used
GPUDirect: unknown
Outcome:   fail
Differs:   network
      IB: 15 ranks (n0, n1)
      Socket: 1 rank (n2)

First cause (certain): the limit is 64 KiB [memlock]
      train.log:3  Call to ibv_reg_mr failed [31m
      Fix: Raise it:
          ulimit -l unlimited
      To be sure: prlimit

Or (possible): the GPU has no memory left [gpu-oom]

Consequences, not causes:
      7 ranks: connection closed, after rank 3 (train.log:20)

Run 2 of 2
Ran:       NCCL, version unknown, 1 rank
Network:   , not known whether it was used
GPUDirect: 
Outcome:   
`},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			if err := Story(&got, test.story, false); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnknownLineFirst: a line that railhead does not know is the first that the reader sees of its run, and stands
// there once.
func TestUnknownLineFirst(t *testing.T) {
	at := func(line int, text string) story.Evidence {
		return story.Evidence{File: "train.log", Line: line, Text: text}
	}
	run := story.Run{
		NCCLVersion: "2.28.9+cuda12.9", Ranks: 16, Nodes: 2, GPUDirect: story.GPUDirectUnknown,
		Network: story.Network{Kind: story.UnknownNetwork, Why: "no line shows it"},
		Outcome: story.OutcomeUnknown, Variables: []string{"NCCL_DEBUG=INFO"},
		Causes: []story.Cause{{
			ID: story.UnknownCause, Confidence: story.Possible, Summary: "a warning that railhead does not know",
			Evidence: []story.Evidence{at(7, "NCCL WARN the flux is exhausted"), at(9, "NCCL WARN no flux")},
			Fix:      "Collect more",
		}},
	}
	const want = `Unknown:   train.log:7  NCCL WARN the flux is exhausted
      train.log:9  NCCL WARN no flux
Ran:       NCCL 2.28.9+cuda12.9, 16 ranks on 2 nodes
Network:   unknown: no line shows it
GPUDirect: unknown
Outcome:   unknown
Next time: set NCCL_DEBUG=INFO to see more

No cause: a warning that railhead does not know [unknown]
      Fix: Collect more
`
	var got strings.Builder
	if err := Story(&got, story.Story{Runs: []story.Run{run}}, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNetworkLineWithoutLayer: a log that does not show the link layer claims neither InfiniBand nor RoCE.
func TestNetworkLineWithoutLayer(t *testing.T) {
	for want, n := range map[string]story.Network{
		"IB (RDMA), not known whether it was used":        {Name: "IB", Kind: story.IB, LinkLayer: "unknown"},
		"IBext_v11 (RDMA), not known whether it was used": {Name: "IBext_v11", Kind: story.IB, LinkLayer: "unknown"},
		"IB, not known whether it was used":               {Name: "IB", Kind: story.IB, LinkLayer: "InfiniBand"},
	} {
		if got := networkLine(n); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

// TestNetworkLineOfOneNode: what one node does not need is not unknown.
func TestNetworkLineOfOneNode(t *testing.T) {
	for kind, want := range map[story.Kind]string{
		story.Socket:         "Socket: one node",
		story.UnknownNetwork: "one node",
	} {
		if got := networkLine(story.Network{Kind: kind, Transport: story.NoTransport, Why: "one node"}); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
