package podcli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/podrun"
	"github.com/railhead/railhead/internal/rail"
	rules "github.com/railhead/railhead/internal/rules/machine"
)

const bandwidthNames = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"

func TestJudgeLoopback(t *testing.T) {
	p := nccl.Path{Rail: &rail.Rail{Device: "mlx5_6", Port: 1, Rate: host.Know(host.Rate{Gbps: 100})}, GID: 3}
	const words = "ib_write_bw -d mlx5_6 -i 1 -F --report_gbits -s 65536 -n 200 -x 3: "
	for name, tc := range map[string]struct {
		loop   podrun.Trial
		status check.Status
		says   string
	}{
		"it moves": {
			podrun.Trial{Text: bandwidthNames + " 65536      200              93.02              92.11\t\t     0.175690\n"},
			check.Pass, "loopback 92.11 Gb/s of 100",
		},
		"it moves and hangs at its end": {
			podrun.Trial{Text: bandwidthNames + " 65536      200              93.02              92.11\t\t     0.175690\n", Hung: true},
			check.Pass, "loopback 92.11 Gb/s of 100",
		},
		"much slower than the link": {podrun.Trial{Text: bandwidthNames + " 65536 200 0.11 0.1067 0.01\n"}, check.Pass,
			"loopback 0.1067 Gb/s of 100"},
		"0 iterations and exit code 0": {
			podrun.Trial{Text: bandwidthNames + " 65536      0             0.00            0.00\t\t     0.000000\n"},
			check.Fail, words + "it ended, but no data was transferred",
		},
		"a dead path": {podrun.Trial{Text: bandwidthNames, Code: 137, Hung: true}, check.Fail,
			words + "it hangs: no data was transferred within 10s"},
		"too little locked memory": {
			podrun.Trial{Text: " Couldn't allocate MR\n failed to create mr\nFailed to create MR\n Couldn't create IB resources\n", Code: 1},
			check.Fail, words + "exit code 1: Couldn't allocate MR; failed to create mr; Failed to create MR; Couldn't create IB resources",
		},
		"port down": {
			podrun.Trial{Text: " Port number 1 state is Down\n Couldn't set the link layer\n", Code: 1}, check.Fail,
			words + "exit code 1: Port number 1 state is Down; Couldn't set the link layer",
		},
		"a completion with an error": {
			podrun.Trial{Code: 1,
				Text: " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0\n" +
					"Failed to complete run_iter_bw function successfully\n---------\n RDMA_Write BW Test\n---------\n" + bandwidthNames},
			check.Fail, words + "exit code 1: Completion with error at client; Failed status 12: wr_id 0 syndrom 0x81; scnt=128, ccnt=0; Failed to complete run_iter_bw function successfully",
		},
		"dead without a word": {podrun.Trial{Code: 139}, check.Fail, words + "exit code 139: "},
		"a library is missing": {
			podrun.Trial{Text: "ib_write_bw: error while loading shared libraries: libibverbs.so.1: cannot open\n",
				Code: 127}, check.Unknown,
			words + "exit code 127: ib_write_bw: error while loading shared libraries: libibverbs.so.1: cannot open",
		},
		"of a foreign format": {podrun.Trial{Code: 126}, check.Unknown, words + "exit code 126: "},
		"a peer that is not there": {
			podrun.Trial{Peer: "h-kim-1", Text: "Couldn't connect to h-kim-1:18615\n", Code: 1, Hung: true},
			check.Unknown, words + "it did not test this rail within 10s",
		},
		"no process to be had": {podrun.Trial{Err: syscall.EAGAIN}, check.Unknown,
			words + "resource temporarily unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newRailTest().judgeLoopback(p, &tc.loop)
			if f.Check != RailLoopback || f.Subject != check.RailRef("mlx5_6:1") || f.Status != tc.status || f.Summary != tc.says {
				t.Errorf("%s %s: %s [%s]\nwant %s %s", f.Status, f.Subject, f.Summary, f.Check, tc.status, tc.says)
			}
		})
	}
}

func TestNextRank(t *testing.T) {
	for name, tc := range map[string]struct {
		own, master, rank, ranks string
		want                     string
	}{
		"StatefulSet":                  {"h-kim-0", "h-kim-0.h-kim.train.svc", "0", "3", "h-kim-1.h-kim.train.svc"},
		"the last comes to the first":  {"h-kim-2", "h-kim-0.h-kim.train.svc", "2", "3", "h-kim-0.h-kim.train.svc"},
		"of more than ten":             {"h-kim-10", "h-kim-0.h-kim.train.svc", "10", "12", "h-kim-11.h-kim.train.svc"},
		"JobSet":                       {"h-kim-worker-0-1", "h-kim-worker-0-0.h-kim.train.svc", "1", "4", "h-kim-worker-0-2.h-kim.train.svc"},
		"one rank":                     {"h-kim-0", "127.0.0.1", "0", "1", ""},
		"one rank with a name":         {"h-kim-0", "h-kim-0.h-kim.train.svc", "0", "1", ""},
		"a master with a name its own": {"h-kim-worker-0", "h-kim-master-0.train.svc", "1", "2", ""},
		"an address":                   {"h-kim-0", "10.0.0.7", "0", "2", ""},
		"the network of the host":      {"gpu-node-4", "h-kim-0.h-kim.train.svc", "0", "2", ""},
		"without a domain":             {"h-kim-0", "h-kim-0", "0", "2", ""},
		"none of it is set":            {"h-kim-0", "", "", "", ""},
	} {
		env := map[string]string{"HOSTNAME": tc.own, "MASTER_ADDR": tc.master, "NODE_RANK": tc.rank, "NNODES": tc.ranks}
		if got := nextRank(func(key string) string { return env[key] }); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestToNextRank: only rails without a loopback are tested again, and those that failed there tell both reasons.
func TestToNextRank(t *testing.T) {
	for name, value := range map[string]string{
		"HOSTNAME": "job-0", "MASTER_ADDR": "job-0.job.train.svc", "NODE_RANK": "0", "NNODES": "2",
	} {
		t.Setenv(name, value)
	}
	const peer = "job-1.job.train.svc"
	outside := podrun.Trial{Text: " Completion with error at client\n-----\n" + bandwidthNames, Code: 1}
	moved := podrun.Trial{Text: bandwidthNames + " 65536      200              93.02              92.11\t\t     0.175690\n"}
	var paths []nccl.Path
	loops := []podrun.Trial{moved, outside, outside, {Text: "Couldn't allocate MR\n", Code: 1}}
	test := newRailTest()
	test.try = func(program string, all []podrun.Trial, _ []string, limit time.Duration) error {
		if program != "ib_write_bw" || limit != 10*time.Second || len(all) != 2 ||
			all[0].Peer != peer || all[0].Port != 18616 || all[1].Port != 18617 {
			t.Errorf("%s within %v: %+v", program, limit, all)
		}
		all[0].Text = moved.Text
		all[1].Text, all[1].Code, all[1].Hung = "Couldn't connect to "+peer+":18617\n", 1, true
		return nil
	}
	var found []check.Finding
	for i := range loops {
		paths = append(paths, nccl.Path{Rail: &rail.Rail{Device: fmt.Sprintf("mlx5_%d", i), Port: 1}, GID: 3})
		found = append(found, test.judgeLoopback(paths[i], &loops[i]))
	}
	var said string
	test.toNextRank(paths, loops, found, func(line string) { said += line })
	if said != "preflight: 2 of 4 rails have no loopback; testing them with "+peer+", at most 10s" {
		t.Error(said)
	}
	var got []string
	for _, f := range found {
		_, text, _ := strings.Cut(f.Summary, " -x 3: ")
		got = append(got, f.Status.String()+": "+cmp.Or(text, f.Summary))
	}
	want := []string{
		"pass: loopback 92.11 Gb/s",
		"pass: no loopback; to " + peer + " 92.11 Gb/s",
		"fail: exit code 1: Completion with error at client; to " + peer + ": it did not test this rail within 10s",
		"fail: exit code 1: Couldn't allocate MR",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoopbackWordsOfInfiniBand(t *testing.T) {
	p := nccl.Path{Rail: &rail.Rail{Device: "mlx5_0", Port: 2}, GID: -1}
	if got := loopbackOptions(p); got != "-d mlx5_0 -i 2 -F --report_gbits -s 65536 -n 200" {
		t.Error(got)
	}
}

func TestPreflightVerdict(t *testing.T) {
	fault := check.Finding{Check: RailLoopback, Status: check.Fail, Subject: check.RailRef("mlx5_6:1"), Summary: "it hangs", Fix: loopbackFix}
	untold := check.Finding{Check: RailLoopback, Status: check.Unknown, Subject: check.RailRef("mlx5_7:1"), Summary: "exit code 127"}
	for name, tc := range map[string]struct {
		mode    string
		wrong   []check.Finding
		refused bool
		says    []string // in this order
	}{
		"all well":                     {mode: preflightFail},
		"all well, to be warned":       {mode: preflightWarn},
		"a rail fails, to be warned":   {preflightWarn, []check.Finding{fault}, false, []string{"PREFLIGHT FAILED: starting the command anyway", "fail: mlx5_6:1: it hangs [rail-loopback]", "fix (user): "}},
		"a rail fails":                 {preflightFail, []check.Finding{fault}, true, []string{"railhead-pod: not started: the preflight failed", "fail: mlx5_6:1: it hangs [rail-loopback]", "fix (user): "}},
		"one could not be tried":       {preflightFail, []check.Finding{untold}, false, []string{"PREFLIGHT INCOMPLETE: starting the command", "mlx5_7:1: exit code 127 [rail-loopback]"}},
		"one could not, another fails": {preflightFail, []check.Finding{untold, fault}, true, []string{"not started", "mlx5_7:1: ", "mlx5_6:1: "}},
	} {
		t.Run(name, func(t *testing.T) {
			var w strings.Builder
			err := preflightVerdict(&w, tc.mode, tc.wrong)
			var coded exit.Error
			if refused := errors.As(err, &coded) && coded.Code == exit.Refused && coded.Err == nil; refused != tc.refused || !refused && err != nil {
				t.Errorf("error %v, want refused %v", err, tc.refused)
			}
			rest := w.String()
			for _, words := range tc.says {
				_, after, found := strings.Cut(rest, words)
				if !found {
					t.Errorf("no %q in its place:\n%s", words, w.String())
				}
				rest = after
			}
			if len(tc.says) == 0 && rest != "" {
				t.Errorf("said %q", rest)
			}
		})
	}
}

func TestUntried(t *testing.T) {
	for name, tc := range map[string]struct {
		ipcLock bool
		lock    error
		wrong   bool
	}{
		"memory can be locked":                             {false, nil, false},
		"memory cannot be locked":                          {false, syscall.ENOMEM, true},
		"memory cannot be locked, and the command may all": {true, syscall.ENOMEM, false},
	} {
		var w strings.Builder
		wrong := untested(&w, fs.ErrNotExist, tc.ipcLock, func(uint64) error { return tc.lock })
		if !strings.HasPrefix(w.String(), "preflight: skipped: no ib_write_bw (perftest) in this image (") || strings.Count(w.String(), "\n") != 1 {
			t.Errorf("%s: said %q", name, w.String())
		}
		var want []check.Finding
		if tc.wrong {
			want = []check.Finding{{Check: rules.MemlockLimit, Status: check.Fail, Fix: loopbackFix, Summary: "1 GiB of memory cannot be locked: cannot allocate memory"}}
		}
		if diff := gocmp.Diff(want, wrong); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPreflightWord(t *testing.T) {
	for args, refused := range map[string]bool{
		"fail -- train.py": true, "warn -- train.py": true, "fail": false, "train.py -- fail": false, "sh -- x": false, "fail train.py --": false,
	} {
		test := newRailTest()
		if err := test.check(strings.Fields(args)); (err != nil) != refused {
			t.Errorf("%s: %v", args, err)
		}
	}
}
