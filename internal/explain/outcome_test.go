package explain

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// TestClaimsNeedProof: a log that does not show how a run went on is neither called failed nor running over TCP, nor a
// job of one node.
func TestClaimsNeedProof(t *testing.T) {
	const at = "gpu-a:41:50 [0] "
	for name, c := range map[string]struct {
		lines   []string
		outcome story.Outcome
		cause   story.CauseID // "" if there is none
	}{
		"connections that were tried again until the end": {[]string{at + "NCCL INFO Bootstrap : Using " +
			"eth0:10.0.0.5<0>", at + "NCCL INFO Using network Socket",
			at + "NCCL INFO Call to connect returned Connection refused, retrying"}, story.OutcomeUnknown,
			story.PeerDied},
		"a plugin without a provider, with nothing after it": {[]string{"NCCL version 2.17.1+cuda12.1",
			at + "NCCL WARN NET/OFI Only EFA provider is supported"}, story.OutcomeUnknown, story.OFINoProvider},
		"a plugin without a provider, and another network": {[]string{
			at + "NCCL WARN NET/OFI Only EFA provider is supported", at + "NCCL INFO Using network Socket"},
			story.OutcomeFallback, story.OFINoProvider},
		"a collective that takes long": {[]string{at + "init.cc:1256 NCCL WARN Your program may be hanging, this may be " +
			"caused by a collective mismatch around rank 1."}, story.OutcomeUnknown, story.HangTimeout},
		"a collective that took long": {[]string{at + "init.cc:1256 NCCL WARN Your program may be hanging, this may be " +
			"caused by a collective mismatch around rank 1.", "step 1 | loss 3.1", "step 2 | loss 3.0", "step 3 | loss 2.9"},
			story.OutcomeOK, ""},
		"UCX without a device, and a result": {[]string{
			"[1.2] [gpu-a:41:0] ib_log.c:246  UCX  ERROR mlx5_0: ibv_create_cq() failed: Cannot allocate memory",
			"# OSU MPI Broadcast Latency Test v5.8", "# Size       Avg Latency(us)", "1            0.23"},
			story.OutcomeOK, ""},
		"UCX without a device": {[]string{
			"[1.2] [gpu-a:41:0] ib_log.c:246  UCX  ERROR mlx5_0: ibv_create_cq() failed: Cannot allocate memory. " +
				"Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)",
			"# OSU MPI Broadcast Latency Test v5.8", "# Size       Avg Latency(us)"}, story.OutcomeFail, story.Memlock},
	} {
		run := ofLines("train.log", c.lines).Last()
		if run.Outcome != c.outcome || (len(run.Causes) == 0) != (c.cause == "") ||
			c.cause != "" && run.Causes[0].ID != c.cause {
			t.Errorf("%s: %s: %s %+v", name, run.Outcome, run.Summary, run.Causes)
		}
	}
}

// TestUnfinishedSetUp: a log that ends while communicators are set up has lines of NCCL.
func TestUnfinishedSetUp(t *testing.T) {
	var lines []string
	for _, rank := range []string{"0", "1"} {
		lines = append(lines, "gpu-a:4"+rank+":50 ["+rank+"] NCCL INFO comm 0x5"+rank+" rank "+rank+" nranks 2 cudaDev "+
			rank+" busId 1"+rank+"000 commId 0x7 - Init START")
	}
	run := ofLines("train.log", lines).Last()
	if run.Outcome != story.OutcomeUnknown || len(run.Causes) == 0 || !strings.Contains(run.Causes[0].Summary,
		"set-up") {
		t.Errorf("%s: %s", run.Outcome, run.Summary)
	}
}

// TestRecognised: a log in which no line is of NCCL is called ok only if it is of a training or of a server of models.
// Few lines that count steps show it, also behind many others; a number of something does not.
func TestRecognised(t *testing.T) {
	const rows = "     2097152        524288     float     sum      -1    113.2   18.53   18.53      0    93.35   22.46 " +
		"  22.46      0\n"
	other := strings.Repeat("Requirement already satisfied: six in /usr/lib\n", 400)
	for _, c := range []struct {
		log     string
		outcome story.Outcome
	}{
		{"ppocr INFO: epoch: [3/1200], global_step: 750, lr: 0.001, loss: 2.01\nsaved the model\n" +
			"ppocr INFO: epoch: [4/1200], global_step: 760, lr: 0.001, loss: 1.85", story.OutcomeOK},
		{"Training: 100%|####| 15/15 [07:57<00:00, 31.82s/it]\nEvaluating: 100%|####| 2/2 [00:19<00:00,  9.58s/it]",
			story.OutcomeOK},
		{other + "step 00000/00050 (0.00%) | loss: 6.93 | tok/sec: 4,755\nstep 00001/00050 (0.02%) | loss: 6.91",
			story.OutcomeOK},
		{strings.Repeat(rows, 3), story.OutcomeOK},
		{"INFO 04-23 14:49:33 [launcher.py:36] Route: /load, Methods: GET\n" +
			"INFO 04-23 14:49:33 [launcher.py:36] Route: /v1/models, Methods: GET\n" +
			"(APIServer pid=1) WARNING 05-07 04:54:33 [model.py:1449] Default sampling parameters have been overridden",
			story.OutcomeOK},
		{"Step 1/12 : FROM debian\nStep 2/12 : RUN apt-get update\nStep 3/12 : COPY . .", story.OutcomeUnknown},
		{strings.Repeat("    /usr/lib/python3.7/site-packages/tensorflow/python/ops/variables.py:67 getter\n"+
			"        return captured_getter(captured_previous, **kwargs)\n", 4), story.OutcomeUnknown},
		{"batch: 8\ntokens: 4096\nsamples: 100", story.OutcomeUnknown},
		{other, story.OutcomeUnknown},
	} {
		if run := ofLines("train.log", strings.Split(c.log, "\n")).Last(); run.Outcome != c.outcome {
			t.Errorf("%.200s\n%s, want %s: %s", c.log, run.Outcome, c.outcome, run.Summary)
		}
	}
}

// TestPortOfTheRendezvous: a launcher that finds the port in use joins the one that listens there.
func TestPortOfTheRendezvous(t *testing.T) {
	const (
		inUse = "[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address."
		late  = "[E socket.cpp:860] [c10d] The client socket has timed out after 60s while trying to connect to (a, 29500)."
		ended = "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. " +
			"port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
		complete = "INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous complete for workers. Result:\n" +
			"  local_ranks=[0, 1]\n  role_ranks=[0, 1]\n  global_ranks=[0, 1]"
	)
	for _, c := range []struct {
		lines   []string
		outcome story.Outcome
	}{
		{[]string{inUse, complete}, story.OutcomeOK},
		{[]string{late, complete}, story.OutcomeOK},
		{[]string{inUse}, story.OutcomeFail},
		{[]string{late}, story.OutcomeFail},
		{[]string{complete, inUse}, story.OutcomeFail},
		{[]string{ended, complete}, story.OutcomeFail},
	} {
		log := strings.Join(c.lines, "\n")
		if run := ofLines("train.log", strings.Split(log, "\n")).Last(); run.Outcome != c.outcome {
			t.Errorf("%s\n%s, want %s: %s", log, run.Outcome, c.outcome, run.Summary)
		}
	}
}

// TestPartOfHeader: nccl-tests lists every rank, so that a header which lacks some shows no number of nodes.
func TestPartOfHeader(t *testing.T) {
	rank := func(n, host string) string {
		return "#  Rank " + n + " Group  0 Pid 4" + n + " on " + host + " device  0 [0000:18:00] NVIDIA H100"
	}
	for _, c := range []struct {
		lines []string
		nodes int
	}{
		{[]string{rank("0", "gpu-a"), rank("1", "gpu-a")}, 1},
		{[]string{rank("0", "gpu-a"), rank("1", "gpu-b")}, 2},
		{[]string{rank("3", "gpu-b")}, 0},
	} {
		run := ofLines("test.log", append(c.lines, "# Avg bus bandwidth    : 42.1")).Last()
		oneNode := run.Network.Transport == story.NoTransport
		if run.Nodes != c.nodes || oneNode != (c.nodes == 1) {
			t.Errorf("%s\n%d nodes, want %d: %s", strings.Join(c.lines, "\n"), run.Nodes, c.nodes, run.Summary)
		}
	}
}
