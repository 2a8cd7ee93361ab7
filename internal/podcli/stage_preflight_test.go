//go:build linux

package podcli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/exit"
)

// standInPerftest is a stand-in of ib_write_bw: it says what the one of perftest 6.06 says over Soft-RoCE, with another
// rate. DEVICE=CASE of $CASES says what a device does otherwise. Both ends hold $ALIVE open as long as they live. Ranks meet
// in $RANKS.
const standInPerftest = `#!/bin/sh
[ -z "$ALIVE" ] || exec 9> "$ALIVE"
[ -z "$ALIVE" ] || echo >&9
for word; do
	case $before in -p) port=$word ;; -d) device=$word ;; -x) gid=$word ;; esac
	before=$word
done
case " $CASES " in
*" $device=hangs "*) exec sleep 600 ;;
*" $device=no-memory "*) printf " Couldn't allocate MR\n failed to create mr\nFailed to create MR\n Couldn't create IB resources\n"; exit 1 ;;
*" $device=no-library "*) echo "ib_write_bw: error while loading shared libraries: libmlx5.so.1: cannot open shared object file"; exit 127 ;;
*" $device=nothing "*) rate=0.00 iterations=0 ;;
*) rate=92.11 iterations=200 ;;
esac
at=/run/meeting.$port
case $port:$before in
1861?:*.svc) at=$RANKS/${before%%.*}.$port ;;
1861?:*) at=$RANKS/$HOSTNAME.$port ;;
*:127.0.0.1) case " $CASES " in *" $device=outside "*) printf " Completion with error at client\n-----\n #bytes     #iterations\n"; exit 1 ;; esac ;;
esac
case $before in 127.0.0.1 | *.svc) ;; *)
	: > "$at"
	while [ -e "$at" ]; do sleep 0.02; done
	exit 0 ;;
esac
[ -e "$at" ] || { echo "Couldn't connect to $before:$port"; echo " Unable to open file descriptor for socket connection Unable to init the socket connection"; exit 1; }
rm "$at"
cat << END
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : $device
 Number of qps   : 1		Transport type : IB
 Connection type : RC		Using SRQ      : OFF
 PCIe relax order: Unsupported
 ibv_wr* API     : OFF
 TX depth        : 128
 CQ Moderation   : 100
 Mtu             : 1024[B]
 Link type       : Ethernet
 GID index       : $gid
 Max inline data : 0[B]
 rdma_cm QPs	 : OFF
 Data ex. method : Ethernet
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      $iterations             $rate              $rate		     0.175690
---------------------------------------------------------------------------------------
END
`

// withPerftest is an environment with the stand-in on its PATH. Only a rail that hangs reaches the limit.
func withPerftest(t *testing.T, set ...string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ib_write_bw"), []byte(standInPerftest), 0o755); err != nil {
		t.Fatal(err)
	}
	return append([]string{"PATH=" + dir + ":" + os.Getenv("PATH"), "RAILHEAD_PREFLIGHT_LIMIT=5m"}, set...)
}

func (s staged) preflight(t *testing.T) {
	const good = "loopback 92.11 Gb/s of 400"
	for _, tc := range []struct {
		name, machine string
		set, args     []string
		code          exit.Code
		want          []string // lines that begin with preflight, without the time that it took
		alarm         string
	}{
		{name: "every rail", args: []string{"--preflight=fail"}, want: []string{"mlx5_6:1 " + good, "mlx5_7:1 " + good, "mlx5_10:1 " + good, "mlx5_11:1 " + good}},
		{name: "without a word", args: []string{"--preflight"}, want: []string{"mlx5_6:1 " + good, "mlx5_7:1 " + good, "mlx5_10:1 " + good, "mlx5_11:1 " + good}},
		{
			name: "by variable, of the user's rails", set: []string{"RAILHEAD_PREFLIGHT=fail", "NCCL_IB_HCA==mlx5_7,mlx5_11", "CASES=mlx5_6=nothing"},
			want: []string{"mlx5_7:1 " + good, "mlx5_11:1 " + good},
		},
		{
			name: "0 iterations and exit code 0, to be warned", args: []string{"--preflight=warn"}, set: []string{"CASES=mlx5_7=nothing", "NCCL_IB_HCA==mlx5_6,mlx5_7"},
			want:  []string{"mlx5_6:1 " + good, "mlx5_7:1 ib_write_bw -d mlx5_7 -i 1 -F --report_gbits -s 65536 -n 200 -x 3: it ended, but no data was transferred"},
			alarm: "\nPREFLIGHT FAILED: starting the command anyway",
		},
		{
			name: "too little locked memory", args: []string{"--preflight=fail"}, set: []string{"CASES=mlx5_6=no-memory", "NCCL_IB_HCA==mlx5_6"}, code: exit.Refused,
			want:  []string{"mlx5_6:1 ib_write_bw -d mlx5_6 -i 1 -F --report_gbits -s 65536 -n 200 -x 3: exit code 1: Couldn't allocate MR; failed to create mr; Failed to create MR; Couldn't create IB resources"},
			alarm: "\nrailhead-pod: not started: the preflight failed",
		},
		{
			name: "a rail hangs", args: []string{"--preflight=fail", "-q"}, set: []string{"CASES=mlx5_10=hangs", "NCCL_IB_HCA==mlx5_10", "RAILHEAD_PREFLIGHT_LIMIT=1s"}, code: exit.Refused,
			alarm: "\nfail: mlx5_10:1: ib_write_bw -d mlx5_10 -i 1 -F --report_gbits -s 65536 -n 200 -x 3: it hangs: no data was transferred within 1s [rail-loopback]\n",
		},
		{
			name: "perftest that does not run", args: []string{"--preflight=fail"}, set: []string{"CASES=mlx5_6=no-library", "NCCL_IB_HCA==mlx5_6"},
			want:  []string{"mlx5_6:1 ib_write_bw -d mlx5_6 -i 1 -F --report_gbits -s 65536 -n 200 -x 3: exit code 127: ib_write_bw: error while loading shared libraries: libmlx5.so.1: cannot open shared object file"},
			alarm: "\nPREFLIGHT INCOMPLETE: ",
		},
		{
			name: "InfiniBand", machine: "pod-infiniband-4vf", args: []string{"--preflight=fail"}, set: []string{"CASES=mlx5_7=nothing", "NCCL_IB_HCA==mlx5_7"}, code: exit.Refused,
			want:  []string{"mlx5_7:1 ib_write_bw -d mlx5_7 -i 1 -F --report_gbits -s 65536 -n 200: it ended, but no data was transferred"},
			alarm: "[rail-loopback]",
		},
		{name: "TCP on purpose", args: []string{"--preflight=fail", "--mode", "tcp"}, set: []string{"CASES=mlx5_6=nothing"}, want: []string{"skipped: the command does not use the rails"}},
		{name: "no rail", machine: "pod-no-rdma", args: []string{"--preflight=fail", "--mode", "auto"}, want: []string{"skipped: the command does not use the rails"}},
		{name: "none", set: []string{"CASES=mlx5_6=nothing"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.machine == "" {
				tc.machine = pod
			}
			set := withPerftest(t, tc.set...)
			o := run1(t, s.on(tc.machine, set, append(append([]string{s.pod, "run"}, tc.args...), "--", "echo", "started")...))
			started := "started\n"
			if tc.code != 0 {
				started = ""
			}
			if o.code != tc.code || o.stdout != started {
				t.Errorf("exit %d, stdout %q:\n%s", o.code, o.stdout, o.stderr)
			}
			if diff := cmp.Diff(tc.want, preflightLines(o.stderr)); diff != "" || !strings.Contains(o.stderr, tc.alarm) {
				t.Errorf("lines (-want +got):\n%s\nand %q in:\n%s", diff, tc.alarm, o.stderr)
			}
		})
	}
}

// preflightLines returns the lines of the preflight, without its announcement and the time that it took.
func preflightLines(stderr string) []string {
	var lines []string
	for line := range strings.Lines(stderr) {
		said, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "preflight: ")
		if is && !strings.HasPrefix(said, "done in ") && !strings.HasPrefix(said, "testing whether ") {
			lines = append(lines, said)
		}
	}
	return lines
}

// preflightToNextRank: where a card sends everything outside, the ranks write to each other; and say who did not.
func (s staged) preflightToNextRank(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cases [2]string // what the devices of each rank do
		code  [2]exit.Code
		want  [2][]string
	}{
		{
			"both send outside", [2]string{"mlx5_7=outside", "mlx5_7=outside"}, [2]exit.Code{}, [2][]string{
				{"1 of 2 rails have no loopback; testing them with job-1.job.train.svc, at most 5m0s", "mlx5_6:1 loopback 92.11 Gb/s of 400", "mlx5_7:1 no loopback; to job-1.job.train.svc 92.11 Gb/s of 400"},
				{"1 of 2 rails have no loopback; testing them with job-0.job.train.svc, at most 5m0s", "mlx5_6:1 loopback 92.11 Gb/s of 400", "mlx5_7:1 no loopback; to job-0.job.train.svc 92.11 Gb/s of 400"},
			},
		},
		{
			"one has no memory to send from", [2]string{"mlx5_7=no-memory", ""}, [2]exit.Code{exit.Refused, 0}, [2][]string{
				{"mlx5_6:1 loopback 92.11 Gb/s of 400", "mlx5_7:1 ib_write_bw -d mlx5_7 -i 1 -F --report_gbits -s 65536 -n 200 -x 3: exit code 1: Couldn't allocate MR; failed to create mr; Failed to create MR; Couldn't create IB resources"},
				{"mlx5_6:1 loopback 92.11 Gb/s of 400", "mlx5_7:1 loopback 92.11 Gb/s of 400"},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ranks := t.TempDir()
			var g sync.WaitGroup
			defer g.Wait()
			for rank := range 2 {
				set := withPerftest(t, "CASES="+tc.cases[rank], "NCCL_IB_HCA==mlx5_6,mlx5_7", "RANKS="+ranks,
					"MASTER_ADDR=job-0.job.train.svc", fmt.Sprintf("NODE_RANK=%d", rank), "NNODES=2")
				name := fmt.Sprintf("HOSTNAME=job-%d", rank) // the machine has its own
				g.Go(func() {
					o := run1(t, s.on(pod, set, "env", name, s.pod, "run", "--preflight=fail", "--", "echo", "started"))
					if diff := cmp.Diff(tc.want[rank], preflightLines(o.stderr)); diff != "" || o.code != tc.code[rank] {
						t.Errorf("rank %d: exit %d, lines (-want +got):\n%s\n%s", rank, o.code, diff, o.stderr)
					}
				})
			}
		})
	}
}

// preflightLeavesNothing: the command is as without it, also where a rail hung.
func (s staged) preflightLeavesNothing(t *testing.T) {
	set := withPerftest(t, "CASES=mlx5_7=hangs", "RAILHEAD_PREFLIGHT_LIMIT=1s")
	const script = `ls /proc/self/fd; read -r child < /proc/$$/task/$$/children; echo "child $child"; grep -E "^(Sig(Blk|Ign|Cgt)|Cap|NoNew)" /proc/self/status; ulimit -a; exec env -0`
	direct := run1(t, s.on(pod, set, s.pod, "run", "--", "sh", "-c", script))
	tried := run1(t, s.on(pod, set, s.pod, "run", "--preflight", "--", "sh", "-c", script))
	if diff := cmp.Diff(direct.stdout, tried.stdout); diff != "" || !strings.Contains(tried.stderr, "it hangs") {
		t.Errorf("(-without +with):\n%s\n%s", diff, tried.stderr)
	}
}

// preflightWithoutPerftest says that nothing was sent, and starts the command.
func (s staged) preflightWithoutPerftest(t *testing.T) {
	set := []string{"PATH=" + t.TempDir()}
	for _, args := range [][]string{{"--preflight=fail"}, {"--preflight=warn", "-q"}} {
		o := run1(t, s.on(pod, set, append(append([]string{s.pod, "run"}, args...), "--", "/bin/echo", "started")...))
		want := []string{"skipped: no ib_write_bw (perftest) in this image (file does not exist): the devices can be opened, but no data was sent"}
		if diff := cmp.Diff(want, preflightLines(o.stderr)); diff != "" || o.stdout != "started\n" || o.code != 0 {
			t.Errorf("%v: exit %d, stdout %q, lines (-want +got):\n%s\n%s", args, o.code, o.stdout, diff, o.stderr)
		}
	}
}

// preflightTermination: whatever ends railhead-pod while rails are tried, ends what tries them.
func (s staged) preflightTermination(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			alive := filepath.Join(t.TempDir(), "alive")
			if err := syscall.Mkfifo(alive, 0o600); err != nil {
				t.Fatal(err)
			}
			set := withPerftest(t, "CASES=mlx5_6=hangs mlx5_7=hangs", "NCCL_IB_HCA==mlx5_6,mlx5_7", "ALIVE="+alive)
			template := s.on(pod, set, "sh", "-c", `echo $$; exec "$0" run --preflight -- echo started`, s.pod)
			cmd := exec.CommandContext(t.Context(), template.Path, template.Args[1:]...)
			cmd.Env = template.Env
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(stdout)
			first, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(first))
			if err != nil {
				t.Fatal(err)
			}
			held, err := os.Open(alive) // until the first of them is there
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			both := make([]byte, 4) // two servers and two clients have come
			if _, err := io.ReadFull(held, both); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(held); err != nil || len(rest) > 0 { // ends when no process holds it any more
				t.Errorf("read %q, %v", rest, err)
			}
			said, err := io.ReadAll(lines)
			if err != nil || len(said) > 0 {
				t.Errorf("it said %q, %v", said, err)
			}
			_ = cmd.Wait() // its state is compared
			if code := cmd.ProcessState.ExitCode(); code != 128+int(sig) {
				t.Errorf("exit %d", code)
			}
		})
	}
}
