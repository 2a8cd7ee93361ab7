package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/logsource"
	"github.com/railhead/railhead/internal/report/text"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/story"
)

// Logs of two ranks on two nodes. Their lines have the forms of NCCL 2.28.
const (
	overRDMA = `n0:10:10 [0] NCCL INFO NCCL version 2.28.9+cuda12.9
n0:10:20 [0] NCCL INFO NET/IB : Using [0]mlx5_6:1/RoCE [RO]; OOB eth0:10.128.2.15<0>
n0:10:20 [0] NCCL INFO Using network IB
n0:10:20 [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 18000 commId 0x7 - Init START
n0:10:20 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
n0:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA
n0:10:20 [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 18000 commId 0x7 - Init COMPLETE
`
	overTCP = `n0:10:10 [0] NCCL INFO NCCL version 2.28.9+cuda12.9
n0:10:20 [0] NCCL INFO NET/IB : No device found.
n0:10:20 [0] NCCL INFO NET/Socket : Using [0]eth0:10.128.2.15<0>
n0:10:20 [0] NCCL INFO Using network Socket
n0:10:20 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
n0:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0
`
	noMemory = overRDMA + `
[2025-11-20 23:56:00] n0:10:30 [0] misc/ibvwrap.cc:144 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory
n0:10:30 [0] NCCL INFO transport/net_ib.cc:1302 -> 2
`
)

func logFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExplain(t *testing.T) {
	folder := filepath.Dir(logFile(t, "rank0.log", overRDMA))
	if err := os.WriteFile(filepath.Join(folder, "model.pt"), []byte("PK"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		stdin string
		tty   bool
		args  []string
		code  exit.Code
		out   []string // in stdout
		err   string   // in stderr
	}{
		"over RDMA, piped in": {
			stdin: overRDMA,
			out:   []string{"NCCL 2.28.9+cuda12.9, 2 ranks on 2 nodes", "RoCE", "used", "stdin:6"},
		},
		"over RDMA, named -": {stdin: overRDMA, args: []string{"-"}, out: []string{"stdin:6"}},
		"over TCP": {
			stdin: overTCP,
			code:  exit.Fault,
			out:   []string{"Socket, not used", "[no-ib-device]"},
		},
		"failed": {
			stdin: noMemory,
			code:  exit.Fault,
			out:   []string{"Outcome:   fail", "[memlock]", "ibv_reg_mr_iova2"},
		},
		"warned at once": {
			stdin: overTCP,
			args:  []string{"--follow"},
			code:  exit.Fault,
			out:   []string{"[no-ib-device]"},
			err:   "WARNING: the job started on TCP",
		},
		"a folder, with what it skips": {
			args: []string{folder},
			out:  []string{"rank0.log:6"},
			err:  "model.pt: not named like a log",
		},
		"tells nothing": {
			stdin: "hello\n",
			code:  exit.Unknown,
			out:   []string{"Network:   unknown: no line shows"},
		},
		"no such file": {
			args: []string{folder + "/rank9.log"},
			code: exit.Unknown,
			err:  "no log was read: " + folder + "/rank9.log: no such file or directory",
		},
		"one of two files is there": {
			args: []string{folder + "/rank9.log", folder + "/rank0.log"},
			code: exit.Unknown,
			out:  []string{"used"},
			err:  "not read: " + folder + "/rank9.log",
		},
		"nothing named at a terminal": {tty: true, code: exit.Usage, err: "name a log, or pipe one in"},
		"a namespace without a job": {
			args: []string{"-n", "train"},
			code: exit.Usage,
			err:  "-n needs the name of a job",
		},
		"an unknown form": {
			args: []string{"-o", "html"},
			code: exit.Usage,
			err:  "must be one of text, wide, json, yaml",
		},
		"no such machine": {
			args: []string{"--with", folder + "/none.json"},
			code: exit.Unknown,
			err:  "--with " + folder + "/none.json: no such file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := runWith(strings.NewReader(test.stdin), test.tty, append([]string{"explain"}, test.args...)...)
			if got.code != int(test.code) {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			for _, want := range test.out {
				if !strings.Contains(got.out, want) {
					t.Errorf("stdout lacks %q:\n%s", want, got.out)
				}
			}
			if !strings.Contains(got.err, test.err) {
				t.Errorf("stderr lacks %q:\n%s", test.err, got.err)
			}
		})
	}
}

// TestExplainMachine: the state of the machine decides between causes that look the same in the log.
func TestExplainMachine(t *testing.T) {
	machine := logFile(t, "pod.json",
		`{"schemaVersion": 1, "limits": {"memlockSoft": 65536, "memlockHard": 65536, "capEff": "0"}}`)
	got := runWith(strings.NewReader(noMemory), false, "explain", "--with", machine, "-o", "json")
	var told story.Story
	if err := json.Unmarshal([]byte(got.out), &told); err != nil {
		t.Fatalf("%v\n%s", err, got.out)
	}
	first := told.Runs[0].Causes[0]
	if diff := cmp.Diff([]any{story.Memlock, story.Certain}, []any{first.ID, first.Confidence}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	newer := logFile(t, "newer.json", `{"schemaVersion": 99}`)
	got = runWith(strings.NewReader(noMemory), false, "explain", "--with", newer)
	if got.code != int(exit.Unknown) || !strings.Contains(got.err, "use a newer railhead") {
		t.Errorf("a newer snapshot: %+v", got)
	}
}

// TestExplainFollow: the warning about TCP appears while the log still grows.
func TestExplainFollow(t *testing.T) {
	in, job := io.Pipe()
	var r logsource.Reader
	go func() { _, _ = io.WriteString(job, overTCP) }()
	open := func(context.Context) (io.ReadCloser, error) { return in, nil }
	err := r.Follow(t.Context(), []logsource.Log{{Name: "stdin", Open: open}}, func(s story.Story) {
		if strings.Contains(strings.Join(text.Warnings(s), "\n"), "WARNING: the job started on TCP") {
			job.Close() // ends the log
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Story().Runs[0].Outcome; got != story.OutcomeFallback {
		t.Errorf("outcome %s", got)
	}
}

// stopper presses Ctrl-C after the first message.
type stopper struct{ stop context.CancelFunc }

func (s stopper) Write(p []byte) (int, error) {
	s.stop()
	return len(p), nil
}

// TestExplainFollowStopped: Ctrl-C ends a growing file, and the explanation follows.
func TestExplainFollowStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out bytes.Buffer
	streams := Streams{In: strings.NewReader(""), Out: &out, Err: stopper{stop}}
	code := Main(ctx, "railhead", []string{"explain", "--follow", logFile(t, "train.log", overTCP)}, "test", streams)
	if code != int(exit.Interrupted) {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, out.String(), "Socket, not used", "[no-ib-device]")
}

// TestExplainArchive: an archive of doctor contains the machines and, with --logs, the logs.
func TestExplainArchive(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "job.tgz")
	low := host.Limits{
		MemlockSoft: host.Know(host.Limit(65536)),
		MemlockHard: host.Know(host.Limit(65536)),
		CapEff:      host.Know(host.Caps(0)),
	}
	var text bytes.Buffer
	err := bundle.Write(&text, bundle.Bundle{
		Machines: []rules.Machine{
			{
				Ref:      check.PodRef("train", "h-kim-0"),
				Snapshot: host.Snapshot{SchemaVersion: host.SchemaVersion, Limits: low},
			},
		},
		Logs: []bundle.Log{{Name: "pod/train/h-kim-0", Container: "train", Text: noMemory}},
	})
	if err == nil {
		err = os.WriteFile(archive, text.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--with", archive}, {"-", "--with", archive}} {
		got := runWith(strings.NewReader(noMemory), false, append([]string{"explain"}, args...)...)
		if got.code != int(exit.Fault) {
			t.Errorf("%v: %+v", args, got)
		}
		launchtest.Has(t, got.out, "First cause (certain)", "[memlock]")
	}
}
