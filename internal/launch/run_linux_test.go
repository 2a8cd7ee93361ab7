package launch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/launch/launchtest"
)

func TestLaunchRuns(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 3, `echo "rank $NODE_RANK of $WHO"; echo "to stderr" >&2; printf "no newline"`)
	tr.Env = []string{"WHO=a  b'c\nd"}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	got := strings.Split(strings.TrimSuffix(tr.out.String(), "\n"), "\n")
	slices.Sort(got)
	want := []string{
		"[0] d", "[0] no newline", "[0] rank 0 of a  b'c",
		"[1] d", "[1] no newline", "[1] rank 1 of a  b'c",
		"[2] d", "[2] no newline", "[2] rank 2 of a  b'c",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	launchtest.Has(t, tr.err.String(), "[2] to stderr\n")
	if !strings.HasSuffix(tr.err.String(), "Network: not known: NCCL logged nothing; the command does not use NCCL, "+
		"or ended before using it\n") {
		t.Error("the last line is not the network's")
	}
	if left := tr.local.Left(); len(left) > 0 {
		t.Errorf("left in the pods: %v", left)
	}
}

// TestLaunchSetsRanks holds the variables to the ranks in pods that deploy did not make. Variables of a pod are kept,
// in both forms, and those of the user come first.
func TestLaunchSetsRanks(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 3, `echo "$NODE_RANK/$NNODES $PET_NODE_RANK/$PET_NNODES $MASTER_ADDR:$MASTER_PORT \
$PET_MASTER_ADDR:$PET_MASTER_PORT $NPROC_PER_NODE of $WORLD_SIZE"`)
	tr.Env = []string{"MASTER_PORT=7"}
	for i, r := range tr.ranks {
		r.Rank = i + 1 // spec.ordinals.start of a StatefulSet
		r.Pod.IP = fmt.Sprintf("10.0.0.%d", i+1)
		r.Pod.Requests = cluster.Resources{"nvidia.com/gpu": 8, "cpu": 4000}
		p := tr.local.Pods[r.Pod.Name]
		p.Env = slices.DeleteFunc(p.Env, func(v string) bool { return strings.HasPrefix(v, "NODE_RANK=") })
		switch i {
		case 1:
			p.Env = append(p.Env, "PET_NODE_RANK=5", "MASTER_ADDR=leader.train.svc")
		case 2:
			p.Env = append(p.Env, "PET_MASTER_ADDR=a$b'c", "NPROC_PER_NODE=auto")
		}
		tr.local.Pods[r.Pod.Name] = p
	}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, tr.out.String(),
		"[1] 0/3 0/3 10.0.0.1:7 10.0.0.1:7 8 of 24\n",
		"[2] 5/3 5/3 leader.train.svc:7 leader.train.svc:7 8 of 24\n",
		"[3] 2/3 2/3 a$b'c:7 a$b'c:7 auto of 24\n")
}

// TestLaunchArguments holds the command's words to what was asked for: no shell comes between.
func TestLaunchArguments(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 1, "")
	tr.Command = []string{"printf", `<%s>\n`, "", "a b", "$HOME", "*", "--", `"'\`}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if diff := cmp.Diff("[0] <>\n[0] <a b>\n[0] <$HOME>\n[0] <*>\n[0] <-->\n[0] <\"'\\>\n",
		tr.out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLaunchFirstFailure(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 3, `echo started
if [ $NODE_RANK = 1 ]; then sleep 0.2; echo "Traceback: no" >&2; exit 7; fi
trap "exit 9" TERM; sleep 600 & wait $!`)
	if code := tr.run(t); code != 7 {
		t.Errorf("exit code %d, want that of rank 1", code)
	}
	launchtest.Has(t, tr.err.String(), "rank 1 (pod h-kim-1) ended with exit code 7; stopping the other ranks in 200ms",
		"Sending SIGTERM to the ranks that are still running",
		"rank 1 (pod h-kim-1) ended with exit code 7, the first of 3 ranks that failed\n  Its last lines on "+
			"stderr:\n    Traceback: no\n")
	launchtest.WaitGone(t, tr.ID)
}

// TestLaunchNotStarted: a rank without its command tells nothing of the network that the command would use.
func TestLaunchNotStarted(t *testing.T) {
	t.Parallel()
	const unused = "the command does not use NCCL, or ended before using it"
	for name, c := range map[string]struct{ instead, says string }{
		"refused":        {`echo "railhead-pod: not started: no rail" >&2; exit 125`, "1 of 2 ranks did not start"},
		"not found":      {`echo "railhead-pod: start torchrum: file does not exist" >&2; exit 127`, "1 of 2 ranks did not start"},
		"not reached":    {"", "1 of 2 ranks did not start"},
		"ended by 125":   {"exit 125", unused},
		"ended by 127":   {`echo "sh: torchrum: not found" >&2; exit 127`, unused},
		"ended and said": {`echo "railhead-pod: it failed" >&2; exit 1`, unused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, 2, `trap "exit 9" TERM; sleep 600 & wait $!`)
			program := filepath.Join(tr.local.Pods["h-kim-1"].Dir, "railhead-pod")
			if c.instead == "" {
				tr.local.Cut = "h-kim-1"
			} else {
				launchtest.Executable(t, program, "#!/bin/sh\n"+c.instead+"\n")
			}
			if code := tr.run(t); code == 0 {
				t.Error("it succeeded")
			}
			if end := "Network: not known: NCCL logged nothing; " + c.says + "\n"; !strings.HasSuffix(tr.err.String(), end) {
				t.Errorf("the last line is not %q", end)
			}
		})
	}
}

func TestLaunchExitCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argv []string
		code exit.Code
		says string
	}{
		"refused": {
			[]string{"sh", "-c", "echo railhead-pod: not started: no rail >&2; exit 125"}, 125,
			"railhead-pod did not start the command, for the reasons above",
		},
		"its own 125":   {[]string{"sh", "-c", "exit 125"}, 125, "sh, or a program that it runs, may have ended so itself"},
		"not invocable": {[]string{"/etc/passwd"}, 126, "/etc/passwd, or a program that it runs, cannot be executed"},
		"not found":     {[]string{"torchrum"}, 127, "torchrum, or a program that it runs, was not found: check"},
		"not found by a shell": {
			[]string{"sh", "-c", "torchrum"}, 127, "sh, or a program that it runs, was not found: check",
		},
		"killed": {
			[]string{"sh", "-c", "kill -KILL $$"},
			137,
			"It was killed by SIGKILL, often by the kernel when memory runs out.",
		},
		"fault":             {[]string{"sh", "-c", "kill -SEGV $$"}, 139, "It was killed by SIGSEGV."},
		"the command's own": {[]string{"sh", "-c", "exit 3"}, 3, "ended with exit code 3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, 1, "")
			tr.Command = c.argv
			if code := tr.run(t); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			launchtest.Has(t, tr.err.String(), c.says)
		})
	}
}

// TestLaunchInterrupt holds Ctrl-C to what it does in a terminal: it reaches the children of a shell, too, and not
// those that have left for a session of their own.
func TestLaunchInterrupt(t *testing.T) {
	t.Parallel()
	for runtime, crun := range map[string]bool{"runc": false, "crun": true} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, 2, `setsid sh -c 'trap "echo worker interrupted" INT; while :; do sleep 0.05; done' &
sh -c 'trap "echo saved; exit 0" INT; echo started; while :; do sleep 0.05; done'; echo "after"; exit 4`)
			tr.local.Crun = crun
			tr.out.When = map[string]func(){"[0] started": tr.stop}
			if code := tr.run(t); code != exit.Interrupted {
				t.Errorf("exit code %d", code)
			}
			launchtest.Has(t, tr.out.String(), "[0] saved\n")
			launchtest.Has(t, tr.err.String(), "Interrupted: sending SIGINT to the command in 2 pods",
				"Press Ctrl-C again to exit at once", "Interrupted: the command has stopped in all pods\nNetwork: ")
			if strings.Contains(tr.err.String(), "failed") || strings.Contains(tr.out.String(), "worker") {
				t.Error("an interrupted rank is no failure, and a worker in its own session is not interrupted")
			}
			launchtest.WaitGone(t, tr.ID)
		})
	}
}

// TestLaunchStubborn ends what does not want to end, and what has left for a session of its own.
func TestLaunchStubborn(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 2, `trap "" INT TERM; setsid sh -c 'trap "" INT TERM; sleep 600' & echo started; while :; do `+
		`sleep 0.05; done`)
	tr.Patience.grace, tr.Patience.kill = 300*time.Millisecond, 300*time.Millisecond
	tr.out.When = map[string]func(){"[0] started": tr.stop}
	if code := tr.run(t); code != exit.Interrupted {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, tr.err.String(), "Sending SIGTERM to the ranks that are still running",
		"Sending SIGKILL to the ranks that are still running")
	launchtest.WaitGone(t, tr.ID)
	if left := tr.local.Left(); len(left) > 0 {
		t.Errorf("left in the pods: %v", left)
	}
}

// TestLaunchInterruptedAtOnce has Ctrl-C before the commands have written their process ids. Without exec the signal
// may come while the shell starts the program, and neither of them takes it.
func TestLaunchInterruptedAtOnce(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 2, `exec sleep 600`)
	tr.err.When = map[string]func(){"Running in": tr.stop}
	if code := tr.run(t); code != exit.Interrupted {
		t.Errorf("exit code %d", code)
	}
	launchtest.WaitGone(t, tr.ID)
}

func TestLaunchTimeout(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 2, `echo started; sleep 600`)
	tr.Limit = 300 * time.Millisecond
	if code := tr.run(t); code != exit.Timeout {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, tr.err.String(), "Timeout: the command has run for 300ms", "The command was stopped after 300ms "+
		"(--timeout)\nNetwork: ")
	launchtest.WaitGone(t, tr.ID)
}

// TestLaunchWholeLines has ranks that write their lines in pieces at the same time.
func TestLaunchWholeLines(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 4, `for i in 1 2 3 4 5 6 7 8 9; do for p in a b c d; do printf "$p-$NODE_RANK-"; done; echo `+
		`"$i"; echo "e-$NODE_RANK" >&2; done`)
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	lines := strings.Split(strings.TrimSuffix(tr.out.String(), "\n"), "\n")
	if len(lines) != 36 {
		t.Errorf("%d lines, want 36", len(lines))
	}
	for _, line := range lines {
		rank := line[1:2]
		want := "[" + rank + "] a-" + rank + "-b-" + rank + "-c-" + rank + "-d-" + rank + "-"
		if !strings.HasPrefix(line, want) || len(line) != len(want)+1 {
			t.Errorf("torn: %q", line)
		}
	}
}

func TestLaunchCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := bytes.Repeat([]byte("0123456789abcdef\n\x00"), 40_000)
	write := func(name string, content []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	files, err := OpenFiles([]string{
		write("train.sh", []byte("#!/bin/sh\npwd; ls; cksum data.bin < data.bin\n"), 0o755),
		write("data.bin", data, 0o644),
		write("-odd name", nil, 0o600),
	})
	if err != nil {
		t.Fatal(err)
	}
	tr := newTrial(t, 2, "")
	tr.Files, tr.Command = files, []string{"./train.sh"}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	sum, err := exec.Command("cksum", filepath.Join(dir, "data.bin")).Output()
	if err != nil {
		t.Fatal(err)
	}
	crc := strings.Fields(string(sum))[0]
	for _, rank := range []string{"0", "1"} {
		where := filepath.Join(tr.local.Pods["h-kim-"+rank].Dir, "tmp", "railhead-"+tr.ID)
		launchtest.Has(t, tr.out.String(), "["+rank+"] "+where+"\n", "["+rank+"] -odd name\n",
			"["+rank+"] train.sh\n", "["+rank+"] "+crc+" ")
	}
	if left := tr.local.Left(); len(left) > 0 {
		t.Errorf("left in the pods: %v", left)
	}
}

// TestLaunchCopiesWithoutCksum: the files are removed from an image that has no cksum, too.
func TestLaunchCopiesWithoutCksum(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	launchtest.Executable(t, filepath.Join(programs, "cksum"), "exit 127\n")
	file := filepath.Join(t.TempDir(), "-odd name")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := newTrial(t, 1, "cat -- *")
	for name, p := range tr.local.Pods {
		p.Env = append(p.Env, "PATH="+programs+":"+os.Getenv("PATH"))
		tr.local.Pods[name] = p
	}
	var err error
	if tr.Files, err = OpenFiles([]string{file}); err != nil {
		t.Fatal(err)
	}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, tr.out.String(), "[0] text\n")
	if left := tr.local.Left(); len(left) > 0 {
		t.Errorf("left in the pods: %v", left)
	}
}

// TestLaunchKeeps holds the end of a launch to what the command wrote next to the files that it was given, and into
// them.
func TestLaunchKeeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"train.py", "state.txt"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	tr := newTrial(t, 2, `mkdir __pycache__; : > __pycache__/x; [ $NODE_RANK = 0 ] || { echo model > checkpoint.pt; `+
		`echo 1 >> state.txt; }`)
	var err error
	if tr.Files, err = OpenFiles(paths); err != nil {
		t.Fatal(err)
	}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	kept := filepath.Join(tr.local.Pods["h-kim-1"].Dir, "tmp", "railhead-"+tr.ID)
	launchtest.Has(t, tr.err.String(), "rank 1 (pod h-kim-1): files that the command wrote stay in "+kept)
	var names []string
	entries, _ := os.ReadDir(kept)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"checkpoint.pt", "state.txt"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"h-kim-1/tmp/railhead-" + tr.ID}, tr.local.Left()); diff != "" {
		t.Error(diff)
	}
}

// TestLaunchNetwork has ranks that log as NCCL does, into the file that the launch names.
func TestLaunchNetwork(t *testing.T) {
	t.Parallel()
	script := `f=$(echo "$NCCL_DEBUG_FILE" | sed "s/%h/h-kim-$NODE_RANK/; s/%p/$$/")
echo "debug $NCCL_DEBUG $NCCL_DEBUG_SUBSYS"
{
echo "h-kim-$NODE_RANK:$$:1 [0] NCCL INFO NET/IB : Using [0]mlx5_$NODE_RANK:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
echo "h-kim-$NODE_RANK:$$:1 [0] NCCL INFO comm 0x1 rank $NODE_RANK nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0"
if [ $NODE_RANK = 0 ]; then way="[send]"; else way="[receive]"; fi
echo "h-kim-$NODE_RANK:$$:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] $way via NET/IB/0/GDRDMA"
echo
echo "[2026-01-02 03:04:05] h-kim-$NODE_RANK:$$:1 [0] net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer"
} > "$f"
exit $CODE`
	const verdict = "Network: RDMA: 1 channel over NET/IB with GPUDirect on all 2 ranks (mlx5_0, mlx5_1), by NCCL's log"
	for code, says := range map[string]string{"0": verdict + "\n", "5": verdict + "; set up before the run failed\n"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, 2, script)
			tr.Env = []string{"CODE=" + code}
			tr.run(t)
			launchtest.Has(t, tr.out.String(), "[1] debug INFO INIT,ENV,NET\n")
			if !strings.HasSuffix(tr.err.String(), says) {
				t.Errorf("the last line is not %q", says)
			}
			warned := strings.Contains(tr.err.String(), "[1] [2026-01-02 03:04:05] h-kim-1")
			if warned != (code != "0") {
				t.Errorf("warnings shown: %v", warned)
			}
			if left := tr.local.Left(); len(left) > 0 {
				t.Errorf("left in the pods: %v", left)
			}
		})
	}
}

// TestLaunchUsersDebug leaves NCCL_DEBUG alone where it is set, and reads the output instead.
func TestLaunchUsersDebug(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 1, `echo "file <$NCCL_DEBUG_FILE>"; echo "x:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] `+
		`[send] via NET/Socket/0"`)
	tr.Env = []string{"NCCL_DEBUG=INFO", "RAILHEAD_MODE=tcp"}
	tr.run(t)
	launchtest.Has(t, tr.out.String(), "[0] file <>\n")
	launchtest.Has(t, tr.err.String(), "Network: TCP: 1 channel over NET/Socket, seen on 1 rank, by NCCL's log, as "+
		"requested (mode tcp)\n")
}

// TestLaunchTwice refuses to start while a launch still runs, and says how to end it.
func TestLaunchTwice(t *testing.T) {
	t.Parallel()
	first := newTrial(t, 1, `echo started; exec sleep 600`)
	second := &trial{local: first.local, out: &launchtest.Text{}, err: &launchtest.Text{}, ctx: t.Context()}
	streams := Streams{Out: second.out, Err: second.err}
	second.Session = New(first.local, streams, []Target{first.ranks[0].Target}, []string{"echo", "second"})
	second.Patience = first.Patience
	var refused error
	first.out.When = map[string]func(){"started": func() { // still in the first launch's write
		_, refused = second.Run(t.Context())
		first.stop()
	}}
	first.run(t)
	if refused == nil {
		t.Fatal("the second launch was not refused")
	}
	form := regexp.MustCompile(`an earlier launch is still running here.*'kubectl exec -n train h-kim-0 -c train -- ` +
		`sh -c "kill (\d+)"', or use --force`)
	if !form.MatchString(refused.Error()) {
		t.Errorf("refused by: %v", refused)
	}
	if code := second.run(t); code != 0 {
		t.Errorf("after the first has ended: exit code %d", code)
	}
	launchtest.Has(t, second.out.String(), "[0] second\n")
}

// TestLaunchAfterCrash starts where a launch was killed: its files are there, its processes are not.
func TestLaunchAfterCrash(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 1, `echo fine`)
	shm := filepath.Join(tr.local.Pods["h-kim-0"].Dir, "shm")
	for name, content := range map[string]string{
		"railhead-0123abcd.pid":            "1\n",
		"railhead-0123abcd.nccl.h-kim-0.7": "NCCL INFO",
		"railhead-0123abcd.sums":           "",
	} {
		if err := os.WriteFile(filepath.Join(shm, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if left := tr.local.Left(); len(left) > 0 {
		t.Errorf("left in the pods: %v", left)
	}
}

func TestLaunchLostPod(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 2, `echo started; sleep 600`)
	evicted := launchtest.RunningPod("h-kim-1")
	evicted.Phase, evicted.Ready = "Failed", false
	evicted.Reason, evicted.Message = "Evicted", "The node was low on resource: memory."
	tr.out.When = map[string]func(){"[1] started": func() {
		go func() {
			tr.local.States <- cluster.State{
				Read: []cluster.Kind{cluster.Pods},
				Pods: []cluster.Pod{launchtest.RunningPod("h-kim-0"), evicted},
			}
		}()
	}}
	if code := tr.run(t); code != exit.Fault {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, tr.err.String(), "rank 1 (pod h-kim-1) was lost: the pod failed: Evicted: The node was low on "+
		"resource: memory.", "the first of 2 ranks that failed")
}

func TestLaunchNotPrepared(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 2, `echo never`)
	if err := os.Remove(filepath.Join(tr.local.Pods["h-kim-1"].Dir, "railhead-pod")); err != nil {
		t.Fatal(err)
	}
	_, err := tr.Run(t.Context())
	if err == nil {
		t.Fatal("it was started")
	}
	launchtest.Has(t, err.Error(), "rank 1 (pod h-kim-1): the command cannot start: ", " is missing: "+
		"'railhead deploy' and 'railhead inject' give it to pods")
	if tr.out.String() != "" || len(tr.local.Left()) > 0 {
		t.Errorf("output %q, left %v", tr.out.String(), tr.local.Left())
	}
}

// closedPipe fails as a pipe does that has no reader.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestLaunchWithoutReader(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 2, `echo started; sleep 600`)
	tr.console = NewConsole(closedPipe{}, tr.err)
	if code := tr.run(t); code != exit.Fault {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, tr.err.String(), "Output closed: the command was stopped in all pods\n")
	launchtest.WaitGone(t, tr.ID)
}

// TestScriptsInOtherShells runs one launch with the shells that images have as sh.
func TestScriptsInOtherShells(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "train.sh")
	if err := os.WriteFile(file, []byte("echo here\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, shell := range [][]string{{"sh"}, {"bash"}, {"dash"}, {"busybox", "sh"}, {"mksh"}, {"zsh", "--emulate", "sh"}} {
		t.Run(shell[0], func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell[0])
			if err != nil {
				t.Skip("not on this machine")
			}
			tr := newTrial(t, 2, `echo "$A"; cat train.sh; trap "" INT TERM; setsid sleep 600 & while :; do sleep `+
				`0.05; done`)
			tr.local.Shell = append([]string{path}, shell[1:]...)
			tr.Env = []string{"A=b c"}
			if tr.Files, err = OpenFiles([]string{file}); err != nil {
				t.Fatal(err)
			}
			tr.Patience.grace, tr.Patience.kill = 300*time.Millisecond, 300*time.Millisecond
			tr.out.When = map[string]func(){"[0] echo here": tr.stop}
			if code := tr.run(t); code != exit.Interrupted {
				t.Errorf("exit code %d", code)
			}
			launchtest.Has(t, tr.out.String(), "[0] b c\n")
			launchtest.WaitGone(t, tr.ID)
			if left := tr.local.Left(); len(left) > 0 {
				t.Errorf("left in the pods: %v", left)
			}
		})
	}
}
