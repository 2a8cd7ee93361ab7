package nccllog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// parsed reads a log from one file.
func parsed(log string) Log {
	var p Parser
	n := 0
	for line := range strings.Lines(log) {
		n++
		p.Line(event.Place{File: "job.log", Line: n}, []byte(line))
	}
	p.End(event.Place{File: "job.log", Line: n}, []byte(log))
	return p.Log()
}

// oneRank returns the only rank of a log.
func oneRank(t *testing.T, log string) Rank {
	t.Helper()
	l := parsed(log)
	if len(l.Runs) != 1 || len(l.Runs[0].Ranks) != 1 {
		t.Fatalf("got %+v", l)
	}
	return l.Runs[0].Ranks[0]
}

func TestRankOfALine(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"plain":  {"node-1:12:34 [3] NCCL INFO Using network IB", "node-1 12 3 "},
		"mpirun": {"[1,5]<stdout>:node-1:12:34 [3] NCCL INFO Using network IB", "node-1 12 3 "},
		"kubectl with a time": {"[pod/train-0/main] 2026-01-02T03:04:05.123456789Z node-1:12:34 [3] NCCL " +
			"INFO Using network IB", "node-1 12 3 "},
		"torchrun": {"[rank3]:node-1:12:34 [3] NCCL INFO Using network IB", "node-1 12 3 "},
		"NCCL's time": {"[2026-01-02 03:04:05] node-1:12:34 [3] NCCL INFO Using network IB",
			"node-1 12 3 "},
		"no CUDA device yet":     {"node-1:12:34 [-1] NCCL INFO Using network IB", "node-1 12 -1 "},
		"process without thread": {"node-1:12 [3] NCCL INFO Using network IB", "node-1 12 3 "},
		"Ray with its address": {"(RayTrainWorker pid=12, ip=10.0.0.3) node-1:12:34 " +
			"[0] NCCL INFO Using network IB", "node-1 12 0 "},
		"nothing in front": {"NCCL INFO Using network IB", " 0 -1 job.log"},
		"time and label in front": {"2026-03-02T10:00:00.5Z [1,5]<stdout>:NCCL INFO Using network IB",
			" 0 -1 [1,5]"},
		"label in front":             {"[1,5]<stdout>:NCCL INFO Using network IB", " 0 -1 [1,5]"},
		"number of srun in front":    {" 5: NCCL INFO Using network IB", " 0 -1 5"},
		"pod's name in front":        {"worker-5: NCCL INFO Using network IB", " 0 -1 worker-5"},
		"output of another in front": {"loss 0.1node-1:12:34 [3] NCCL INFO Using network IB", "0.1node-1 12 3 "},
	} {
		t.Run(name, func(t *testing.T) {
			r := oneRank(t, c.line)
			if got := fmt.Sprintf("%s %d %d %s", r.Host, r.PID, r.Device, r.Label); got != c.want || r.Network != "IB" {
				t.Errorf("want %q, got %q (network %q)", c.want, got, r.Network)
			}
		})
	}
}

func TestTornLines(t *testing.T) {
	l := parsed("a1:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n" +
		"a1:1:1 [0] NCCL INFO comm 0x1 rank 0 nra1:2:2 [1] NCCL INFO comm 0x2 rank 1 nRanks 2 nNodes 1 localRanks " +
		"2 localRank 1 MNNVL 0\n" +
		"a1:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0a1:2:2 [1] NCCL INFO Channel 00/0 : " +
		"3[1] -> 1[1] [receive] via NET/IB/0\n" +
		"outputa1:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 2[0] [send] via NET/IB/0\n")
	var got []string
	for _, r := range l.Runs[0].Ranks {
		nets := r.Channels.Nets[0]
		got = append(got, fmt.Sprintf("%s:%d[%d] rank %d sends %d receives %d", r.Host, r.PID, r.Device, r.Number,
			nets.Sends, nets.Receives))
	}
	want := []string{"a1:1[0] rank -1 sends 2 receives 0", "a1:2[1] rank 1 sends 0 receives 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTornLineOfTheLongerHost asserts that the longer host wins if two names match the end of a torn one.
func TestTornLineOfTheLongerHost(t *testing.T) {
	var log strings.Builder
	for i := range 20 { // maps have no order
		fmt.Fprintf(&log, "n%d:%d:1 [0] NCCL INFO x\npod-n%d:%d:1 [0] NCCL INFO x\n", i, 1+i, i, 100+i)
	}
	log.WriteString("n0:1:1 [0] NCCL INFO nranks 4pod-n7:107:1 [1] NCCL INFO x\n")
	ranks := parsed(log.String()).Runs[0].Ranks
	if last := ranks[len(ranks)-1]; len(ranks) != 41 || last.Host != "pod-n7" || last.Device != 1 {
		t.Errorf("%d ranks, the last one on %s[%d], want pod-n7[1]", len(ranks), last.Host, last.Device)
	}
}

func TestChannels(t *testing.T) {
	head := "h:1:1 [0] NCCL INFO "
	for name, c := range map[string]struct {
		line string
		want NetChannels
	}{
		"2.28": {"Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3(2)/GDRDMA(PCI)/Shared",
			NetChannels{Network: "IB", Sends: 1, SendsDirect: 1, Devices: 1 << 3, DevicesDirect: 1 << 3}},
		"2.18": {"Channel 00/0 : 0[1b000] -> 8[1b000] [receive] via NET/IBext/0",
			NetChannels{Network: "IBext", Receives: 1, Devices: 1}},
		"2.9": {"Channel 00 : 0[1b000] -> 8[1b000] [receive] via NET/IB/0/GDRDMA",
			NetChannels{Network: "IB", Receives: 1, ReceivesDirect: 1, Devices: 1, DevicesDirect: 1}},
		"2.4": {"Ring 00 : 0 -> 8 [send] via NET/IB/0", NetChannels{Network: "IB", Sends: 1, Devices: 1}},
		"a name with blank": {"Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/5/GDRDMA/Shared",
			NetChannels{Network: "AWS Libfabric", Sends: 1, SendsDirect: 1, Devices: 1 << 5, DevicesDirect: 1 << 5}},
	} {
		t.Run(name, func(t *testing.T) {
			nets := oneRank(t, head+c.line).Channels.Nets
			if len(nets) != 1 {
				t.Fatalf("got %+v", nets)
			}
			got := nets[0]
			got.First, got.Direct, got.Indirect = event.Quote{}, event.Quote{}, event.Quote{}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHCAs(t *testing.T) {
	for name, c := range map[string]struct{ list, want string }{
		"2.18": {"[0]mlx5_6:1/RoCE [1]mlx5_10:1/IB [RO]; OOB eth0:10.0.0.1<0>",
			"0 mlx5_6 1 RoCE, 1 mlx5_10 1 IB"},
		"joined, 2.22": {"[0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [1]={[2] mlx5_0:1/RoCE} [RO]; OOB " +
			"bond0.526:10.0.0.9<0>", "0 mlx5_2 1 RoCE, 1 mlx5_3 1 RoCE, 2 mlx5_0 1 RoCE"},
		"planes, 2.30": {"[0]mlx5_6:1:0:1/RoCE [1]mlx5_7:1::2/RoCE; OOB eth0:10.0.0.1<0>",
			"0 mlx5_6 1 RoCE, 1 mlx5_7 1 RoCE"},
		"SHARP, HPC-X":    {"[0]mlx5_0:1/IB/SHARP [1]mlx5_8:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", "0 mlx5_0 1 IB, 1 mlx5_8 1 RoCE"},
		"none, 2.24":      {"[RO]; OOB eth0:10.0.0.1<0>", ""},
		"no blank at all": {"; OOB eth0:10.0.0.1<0>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := oneRank(t, "h:1:1 [0] NCCL INFO NET/IB : Using "+c.list)
			var got []string
			for _, h := range r.HCAs {
				got = append(got, fmt.Sprintf("%d %s %d %s", h.Index, h.Name, h.Port, h.Layer))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
			if r.OOB.Interface == "" {
				t.Error("no OOB interface")
			}
		})
	}
}

func TestCompletions(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want event.Completion
	}{
		"2.12": {"NET/IB : Got completion from peer 10.0.0.5<33> with error 12, opcode 0, len 0, vendor err 129 (Recv)",
			event.Completion{Peer: "10.0.0.5<33>", Status: 12, Name: "RETRY_EXC_ERR", Opcode: "0", Vendor: 129,
				HasVendor: true, ReqType: "Recv"}},
		"2.24": {"NET/IB: Got completion from peer 10.0.0.5<33> with status=4 opcode=1 len=2 vendor err 81 (Send) " +
			"localGid ::ffff:1.2.3.4 remoteGids::ffff:1.2.3.5 hca mlx5_0",
			event.Completion{Peer: "10.0.0.5<33>", Status: 4, Name: "LOC_PROT_ERR", Opcode: "1", Vendor: 81,
				HasVendor: true, ReqType: "Send", LocalGID: "::ffff:1.2.3.4", RemoteGID: "::ffff:1.2.3.5",
				HCA: "mlx5_0"}},
		"2.28": {"NET/IB: Got completion from peer 10.0.0.5<33> with status=IBV_WC_WR_FLUSH_ERR(5) " +
			"opcode=IBV_WC_SEND(0) reqSize=9 vendor_err=249 req_type=Flush hca mlx5_0",
			event.Completion{Peer: "10.0.0.5<33>", Status: 5, Name: "WR_FLUSH_ERR", Opcode: "IBV_WC_SEND(0)", Vendor: 249,
				HasVendor: true, ReqType: "Flush", HCA: "mlx5_0"}},
	} {
		t.Run(name, func(t *testing.T) {
			events := parsed("h:1:1 [0] transport/net_ib.cc:1 NCCL WARN " + c.text).Runs[0].Events
			if len(events) != 1 || events[0].Completion == nil {
				t.Fatalf("got %+v", events)
			}
			if diff := cmp.Diff(c.want, *events[0].Completion); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVerbs(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want event.Verbs
	}{
		"2.9": {"Call to ibv_create_cq failed", event.Verbs{Call: "ibv_create_cq", GIDIndex: -1}},
		"2.18": {"Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
			event.Verbs{Call: "ibv_reg_mr_iova2", Errno: 12, Error: "Cannot allocate memory", GIDIndex: -1}},
		"2.20": {"Call to ibv_modify_qp failed with error No such device errno 19",
			event.Verbs{Call: "ibv_modify_qp", Errno: 19, Error: "No such device", GIDIndex: -1}},
		"2.28": {"Call to ibv_modify_qp failed with 61 No data available, on dev mlx5_0:1, curr state INIT, next " +
			"state RTR, local GID index 3, local GID ::, remote GID ::ffff:1.2.3.4",
			event.Verbs{Call: "ibv_modify_qp", Errno: 61, Error: "No data available", Device: "mlx5_0:1", From: "INIT",
				To: "RTR", GIDIndex: 3, LocalGID: "::", RemoteGID: "::ffff:1.2.3.4", Wide: true}},
	} {
		for form, log := range map[string]string{
			"a warning": "h:1:1 [0] misc/ibvwrap.cc:1 NCCL WARN " + c.text,
			"wrapped": "h:1:1 [0] misc/ibvwrap.cc:1 NCCL WARN " +
				strings.Replace(c.text, ", curr", ",\ncurr", 1),
			"PyTorch repeats": "[rank3]: Last error:\n[rank3]: " + c.text,
		} {
			t.Run(name+" "+form, func(t *testing.T) {
				events := parsed(log).Runs[0].Events
				if len(events) != 1 || events[0].Verbs == nil {
					t.Fatalf("got %+v", events)
				}
				if diff := cmp.Diff(c.want, *events[0].Verbs); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestKinds(t *testing.T) {
	for want, lines := range map[event.Kind][]string{
		event.ConnectFailed: {
			"h:1:1 [0] misc/socket.cc:1 NCCL WARN socketStartConnect: Connect to 10.0.0.5<39275> failed : No " +
				"route to host",
			"h:1:1 [0] include/socket.h:403 NCCL WARN Connect to 10.0.0.5<39275> failed : Connection refused",
		},
		event.SocketClosed: {
			"h:1:1 [0] misc/socket.cc:1 NCCL WARN socketProgress: Connection closed by remote peer b<1>",
		},
		event.SocketFailed: {
			"h:1:1 [0] misc/socket.cc:1 NCCL WARN socketProgressOpt: Call to recv from 10.0.0.5<1> failed : " +
				"Connection reset by peer",
		},
		event.WrongSocket: {
			"h:1:1 [0] misc/socket.cc:1 NCCL WARN socketFinalizeAccept from 10.0.0.5<1>: wrong type 3 != 4",
		},
		event.NoInterface: {
			"h:1:1 [0] bootstrap.cc:1 NCCL WARN Bootstrap : no socket interface found",
		},
		event.DuplicateGPU: {
			"h:1:1 [0] init.cc:1 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000",
		},
		event.NVLSFailed: {
			"h:1:1 [0] transport/nvls.cc:1 NCCL WARN Cuda failure 801 'operation not supported'",
		},
		event.CUDAFailed: {
			"h:1:1 [0] enqueue.cc:1 NCCL WARN Cuda failure 'an illegal memory access was encountered'",
		},
		event.OutOfMemory: {
			"h:1:1 [0] enqueue.cc:1 NCCL WARN HIP failure 'out of memory'",
			"[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
		},
		event.ShmFailed: {
			"h:1:1 [0] include/shm.h:1 NCCL WARN Call to posix_fallocate failed : No space left on device",
		},
		event.AsyncEvent: {
			"h:1:1 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)",
		},
		event.Warning: {
			"h:1:1 [0] init.cc:1 NCCL WARN MSCCL++: Cannot initialize",
		},
		event.Watchdog: {
			"[rank1]:[E1 10:10:31.0 ProcessGroupNCCL.cpp:1] [Rank 1] Watchdog caught collective operation " +
				"timeout: WorkNCCL(SeqNum=4)",
		},
		event.Result: {
			"RuntimeError: NCCL error in: x.cpp:1, unhandled system error, NCCL version 2.18.3",
		},
		event.Exit: {
			"  exitcode  : -9 (pid: 41)",
		},
		event.OOMKill: {
			"slurmstepd: error: Detected 1 oom_kill event in StepId=77.0",
		},
		event.TimeLimit: {
			"slurmstepd: error: *** STEP 7.0 ON a CANCELLED AT 2026-01-01 DUE TO TIME LIMIT ***",
		},
		event.Aborted: {
			"MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
		},
		event.Xid: {
			"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
		},
		event.Exception: {
			"[rank0]: KeyError: 'tokens'",
		},
		event.Finished: {
			"# Out of bounds values : 0 OK",
		},
		event.Rendezvous: {
			"torch.distributed.DistNetworkError: The client socket has timed out after 600000ms",
		},
	} {
		for _, line := range lines {
			if events := parsed(line).Runs[0].Events; len(events) != 1 || events[0].Kind != want {
				t.Errorf("%s: want one event of kind %d, got %+v", line, want, events)
			}
		}
	}
}

// TestSilence asserts that lines that only look like failures are no events.
func TestSilence(t *testing.T) {
	for _, line := range []string{
		"step 7 | loss 0.1 | error_rate 0.003 | timeout=1800", "Namespace(nccl_timeout=1800, on_error='raise')",
		"h:1:1 [0] NCCL INFO misc/utils.cc:235 -> 0", "h:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so",
		"h:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 - Abort COMPLETE",
		"h:1:1 [0] NCCL INFO [Service thread] Connection closed by localRank 0",
		"INFO: ProcessGroupNCCL initialization options: TIMEOUT(ms): 600000",
		"UserWarning: Error detected in nothing", "exitcode: 0", "saved: checkpoint", "Exception handling: enabled",
		"TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC: 600",
	} {
		if events := parsed(line).Runs[0].Events; len(events) > 0 {
			t.Errorf("%s: got %+v", line, events)
		}
	}
}

func TestRunsOfOneFile(t *testing.T) {
	start := func(pid, rank int, id string) string {
		return fmt.Sprintf("a:%d:%d [%d] NCCL INFO ncclCommInitRank comm 0x1 rank %d nranks 2 cudaDev %d commId %s "+
			"- Init START\n", pid, pid, rank, rank, rank, id)
	}
	for name, c := range map[string]struct {
		log  string
		want []int // ranks of each run
	}{
		"started again": {start(1, 0, "0xa") + start(2, 1, "0xa") + start(11, 0, "0xb") +
			start(12, 1, "0xb"), []int{2, 2}},
		"every container calls its only GPU 0": {strings.ReplaceAll(start(1, 0, "0xa")+start(2, 1, "0xa"), "[1]",
			"[0]"), []int{2}},
		"two processes that speak at the same time": {start(1, 0, "0xa") + start(11, 0, "0xb") + start(1, 0, "0xa"),
			[]int{2}},
		"warnings alone": {"a:1:1 [0] x.cc:1 NCCL WARN one\na:2:2 [0] x.cc:1 NCCL WARN " +
			"two\n", []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, r := range parsed(c.log).Runs {
				got = append(got, len(r.Ranks))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestParserBounded asserts that an endless log does not need more than the memory that is set aside for it.
func TestParserBounded(t *testing.T) {
	var p Parser
	long := strings.Repeat("x", 5000)
	for i := range maxRanks + 100 {
		head := fmt.Sprintf("h%d:%d:1 [0] ", i, i)
		p.Line(event.Place{File: "a", Line: i}, []byte(head+"x.cc:1 NCCL WARN something new "+long))
		p.Line(event.Place{File: "a", Line: i}, []byte(head+fmt.Sprintf("NCCL INFO NCCL_X%d set to %s", i, long)))
		p.Line(event.Place{File: "a", Line: i}, []byte(head+fmt.Sprintf("NCCL INFO NET/IB : Using [0]mlx%d:1/IB; OOB eth0:1.2.3.4<0>",
			i)))
		p.Line(event.Place{File: "a", Line: i}, []byte(head+"x.cc:1 NCCL WARN Call to ibv_create_cq failed"))
	}
	l := p.Log()
	texts := 0
	for _, e := range l.Runs[0].Events {
		texts = max(texts, len(e.Text))
	}
	if len(l.Runs[0].Ranks) != maxRanks || len(p.notes.events) > maxEvents || len(p.ranks.texts.words) > maxWords || texts > maxText ||
		!l.Runs[0].Truncated {
		t.Errorf("%d ranks, %d events, %d words, texts of %d, truncated %v", len(l.Runs[0].Ranks), len(p.notes.events),
			len(p.ranks.texts.words), texts, l.Runs[0].Truncated)
	}
}

func TestSeen(t *testing.T) {
	for line, want := range map[string]bool{
		"a:1:1 [0] NCCL INFO cudaDriverVersion 12090":                           true,
		"NCCL version 2.21.5+cuda12.4":                                          true,
		"[2025-11-20 23:56:00] a:1:1 [0] net.cc:1 NCCL WARN NET/IB : No device": true,
		"we use NCCL": false,
		"":            false,
	} {
		if got := parsed(line).Seen(); got != want {
			t.Errorf("Seen after %q: got %v", line, got)
		}
	}
}

func TestLineOfNCCLTestsThatIsCutOff(t *testing.T) {
	if got := parsed("# Pid 1 device Rank ").Runs[0].Tests.Ranks; got != 0 {
		t.Errorf("%d ranks, want 0", got)
	}
}

func TestLogDoesNotChange(t *testing.T) {
	var p Parser
	p.End(event.Place{File: "job.log", Line: 1}, nil)
	log := p.Log()
	p.End(event.Place{File: "job.log", Line: 2}, nil)
	if got := log.Runs[0].Ends["job.log"].Line; got != 1 {
		t.Errorf("the file of an earlier log ends at line %d, want 1", got)
	}
}
