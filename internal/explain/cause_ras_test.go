package explain

import (
	"strings"
	"testing"
)

// rasHead is the beginning of ncclras's report.
const rasHead = `NCCL version 2.28.9 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12090

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
`

// TestRAS reads reports of NCCL's RAS service: a rank that is missing or dead is a failure, ranks at different
// operations may be one.
func TestRAS(t *testing.T) {
	const missing = "    0         1         4         8        32        31   RUNNING  INCOMPLETE\n\n" +
		"INCOMPLETE\n  Missing communicator data from 1 job process\n" +
		"  Process 3487984 on node 172.16.64.213 managing GPU 5\n\n#0-0 (cf264af53edbe986) INCOMPLETE\n" +
		"  Missing communicator data from 1 rank\n" +
		"  Rank 21 -- GPU 5 managed by process 3487984 on node 172.16.64.213\n\n"
	const differ = "#0-0 (27a079b8) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n" +
		"  31 ranks have launched up to operation 6650\n" +
		"  Rank 3 has launched up to operation 6649 -- GPU 3 managed by process 42 on node 172.16.64.210\n"
	const failed, noCause = "unknown null unknown fail peer-died", "unknown null unknown fail unknown"
	const healthy = "unknown null unknown ok -"
	for name, c := range map[string]struct {
		text, want, says string
	}{
		"healthy": {"    0         1         4         8        32        32   RUNNING      OK\n",
			healthy, ""},
		"a rank is missing": {missing + "Warnings\n========\n\nTIMEOUT\n  Encountered 1 communication timeout while " +
			"gathering communicator data\n\n" + differ, failed, "rank 21 on 172.16.64.213"},
		"a process is dead": {"DEAD\n  1 job process considered dead (unreachable via the RAS network)\n" +
			"  Process 42 on node 10.0.0.7 managing GPU 0\n", failed,
			"a process on 10.0.0.7"},
		"ranks at different operations": {differ, "unknown null unknown unknown hang-timeout",
			"rank 3 on 172.16.64.210 has launched up to operation 6649"},
		"errors of ranks": {"#0-0 (27a079b8) ERROR\n  Asynchronous error on 1 rank\n  Rank 3 reported System " +
			"error -- GPU 3 managed by process 42 on node gpu-1\n", noCause, "RAS reports"},
		"an aborted group": {"    0         1         4         8        32        32     ABORT      OK\n", noCause,
			"a communicator was aborted"},
		"aborted ranks": {"    0         1         4         8        32        32     ABORT  MISMATCH\n\n" +
			"#0-0 (27a079b8) MISMATCH\n  Communicator ranks have different status\n  31 ranks have status RUNNING\n" +
			"  Rank 3 has status ABORT -- GPU 3 managed by process 42 on node 172.16.64.210\n", noCause, "aborted"},
		"a group that ends":         {"    0         1         4         8        32        32  FINALIZE      OK\n", healthy, ""},
		"JSON, an aborted rank":     {`            "abort_flag": true` + "\n", noCause, "aborted"},
		"JSON, no rank was aborted": {`            "abort_flag": false` + "\n", healthy, ""},
		"JSON, all well": {`      "missing_ranks_count": 0,` + "\n" + `            "async_error": 0,` + "\n",
			healthy, ""},
		"JSON, a missing rank": {`      "missing_ranks_count": 1,` + "\n", failed, "RAS"},
		"JSON, an error":       {`            "async_error": 6,` + "\n", noCause, "RAS"},
		"an event":             {"[2026-03-02 10:00:00] PEER_DEAD 10.0.0.7:4242\n", failed, "RAS"},
	} {
		story := ofLines("ras.txt", strings.Split(rasHead+c.text, "\n"))
		if got := verdict(story); got != c.want || !strings.Contains(story.Runs[0].Summary, c.says) {
			t.Errorf("%s: want %s %q, got %s, %s", name, c.want, c.says, got, story.Runs[0].Summary)
		}
	}
}
