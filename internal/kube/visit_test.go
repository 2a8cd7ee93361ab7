package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railhead/railhead/internal/host"
)

func TestFanOutIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		busy, most, told := make(chan int, 1), 0, 0
		busy <- 0
		count := func(by int) {
			now := <-busy + by
			most = max(most, now)
			busy <- now
		}
		begun := time.Now()
		err := fanOut(t.Context(), n, maxVisits, time.Minute, func(context.Context, int) Visited {
			count(1)
			<-time.After(time.Second)
			count(-1)
			return Visited{}
		}, func(Visited) { told++ })
		if err != nil || told != n || most != maxVisits {
			t.Errorf("%d of %d told, %d at once: %v", told, n, most, err)
		}
		if took, want := time.Since(begun), time.Duration((n+maxVisits-1)/maxVisits)*time.Second; took != want {
			t.Errorf("it took %v, not %v", took, want)
		}
	})
}

func TestFanOutGivesUpOnOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrong []string
		err := fanOut(t.Context(), 3, maxVisits, time.Minute, func(ctx context.Context, i int) Visited {
			if i == 1 {
				<-ctx.Done()
				return Visited{Err: ctx.Err()}
			}
			return Visited{}
		}, func(v Visited) {
			if v.Err != nil {
				wrong = append(wrong, v.Err.Error())
			}
		})
		if err != nil || len(wrong) != 1 || wrong[0] != "no answer within 1m0s" {
			t.Errorf("%q: %v", wrong, err)
		}
	})
}

func TestFanOutIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, interrupt)
		begun, told := time.Now(), 0
		err := fanOut(ctx, 1000, maxVisits, time.Minute, func(ctx context.Context, _ int) Visited {
			select {
			case <-ctx.Done():
				return Visited{Err: ctx.Err()}
			case <-time.After(time.Second):
				return Visited{}
			}
		}, func(Visited) { told++ })
		if !errors.Is(err, context.Canceled) || time.Since(begun) > 2*time.Second || told != 1000 {
			t.Errorf("%d told after %v: %v", told, time.Since(begun), err)
		}
	})
}

// shellIn runs scripts on this machine, in a folder of its own.
func shellIn(t *testing.T, program string) (dir string, run func(context.Context, PodRef, ExecOptions) (int, error)) {
	t.Helper()
	dir = t.TempDir()
	return dir, func(ctx context.Context, _ PodRef, o ExecOptions) (int, error) {
		words := append([]string{}, o.Command...)
		words[len(words)-2] = program
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
		cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir}
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode(), nil
		}
		return 0, err
	}
}

// standIn is a program that says a snapshot, as railhead-pod does.
func standIn(t *testing.T, pod string) []byte {
	t.Helper()
	return fmt.Appendf(nil, "#!/bin/sh\ncase $1 in\nsnapshot) echo '%s' ;;\n--version) echo test ;;\n*) exit 9 "+
		";;\nesac\n", standInSnapshot(t, pod))
}

func standInSnapshot(t *testing.T, pod string) []byte {
	t.Helper()
	text, err := json.Marshal(host.Snapshot{SchemaVersion: 1, Pod: host.Know(pod)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSnapshotOnce(t *testing.T) {
	program := filepath.Join(t.TempDir(), "railhead-pod")
	if err := os.WriteFile(program, standIn(t, "carried"), 0o700); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "railhead-pod")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no such option >&2\nexit 2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	brings := func(content []byte, err error) func(string) ([]byte, error) {
		return func(string) ([]byte, error) { return content, err }
	}
	for name, test := range map[string]struct {
		there   string
		program func(string) ([]byte, error)
		pod     string
		err     string
	}{
		"the container has it":   {program, nil, "carried", ""},
		"it is copied":           {"/nowhere", brings(standIn(t, "brought"), nil), "brought", ""},
		"the container has none": {"/nowhere", nil, "", "the container has no railhead-pod"},
		"there is none to copy": {
			"/nowhere",
			brings(nil, errors.New("not built")),
			"",
			"none to copy for ",
		},
		"the container has another program": {broken, nil, "", "no such option"},
		"the copy cannot be executed":       {"/nowhere", brings([]byte("no program"), nil), "", "cannot be executed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, run := shellIn(t, test.there)
			s, err := snapshotter{exec: run, VisitOptions: VisitOptions{Program: test.program}}.snapshotOnce(t.Context())
			if s.Pod.Value != test.pod || (err == nil) != (test.err == "") ||
				err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("pod %q: %v", s.Pod.Value, err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestVisitAgain: a broken stream is retried, a refusal is not.
func TestVisitAgain(t *testing.T) {
	for name, test := range map[string]struct {
		breaks int
		err    error
		tries  int
		ok     bool
	}{
		"first try":       {0, nil, 1, true},
		"second try":      {1, errors.New("error dialing backend: EOF"), 2, true},
		"every try fails": {9, errors.New("error dialing backend: EOF"), visitTries, false},
		"it is forbidden": {9, &Forbidden{}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				v := snapshotter{exec: func(_ context.Context, _ PodRef, o ExecOptions) (int, error) {
					if tries++; tries <= test.breaks {
						return 0, test.err
					}
					_, err := io.WriteString(o.Stdout, "{}")
					return 0, err
				}}.snapshot(t.Context())
				if tries != test.tries || (v.Err == nil) != test.ok {
					t.Errorf("%d tries: %v", tries, v.Err)
				}
				if v.Err != nil && v.Err.Error() != test.err.Error() {
					t.Errorf("it says %q", v.Err)
				}
			})
		})
	}
}

// TestVisitCutShort: output that is cut short is asked for again, once.
func TestVisitCutShort(t *testing.T) {
	whole := string(standInSnapshot(t, "train-0"))
	for name, test := range map[string]struct {
		says  []string // the output of each try
		tries int
		err   string
	}{
		"complete":       {[]string{whole}, 1, ""},
		"cut short once": {[]string{whole[:len(whole)/2], whole}, 2, ""},
		"empty once":     {[]string{"", whole}, 2, ""},
		"cut short twice": {
			[]string{whole[:len(whole)/2], whole[:len(whole)-1]}, 2,
			"the output of railhead-pod snapshot cannot be read: the output was cut short, also when asked again",
		},
		"no snapshot": {
			[]string{"motd"}, 1,
			"the output of railhead-pod snapshot cannot be read: jsontext: invalid character 'm' at start of value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			v := snapshotter{exec: func(_ context.Context, _ PodRef, o ExecOptions) (int, error) {
				tries++
				_, err := io.WriteString(o.Stdout, test.says[tries-1])
				return 0, err
			}}.snapshot(t.Context())
			got := ""
			if v.Err != nil {
				got = v.Err.Error()
			}
			if tries != test.tries || got != test.err || (got == "") != (v.Snapshot.Pod.Value == "train-0") {
				t.Errorf("%d tries: %q, pod %q", tries, got, v.Snapshot.Pod.Value)
			}
		})
	}
}

// TestWatch: a pod is asked to read itself twice, whether railhead-pod is there or copied.
func TestWatch(t *testing.T) {
	program := []byte("#!/bin/sh\ncase \"$*\" in\n--version) ;;\n'snapshot --watch=1s') echo '{\"earlier\":{}}' ;;\nesac\n")
	o := VisitOptions{Watch: time.Second, Program: func(string) ([]byte, error) { return program, nil }}
	there := filepath.Join(t.TempDir(), "railhead-pod")
	if err := os.WriteFile(there, program, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{there, "/nowhere"} {
		_, run := shellIn(t, place)
		if s, err := (snapshotter{run, Visit{}, o}).snapshotOnce(t.Context()); err != nil || s.Earlier == nil {
			t.Errorf("%s: %+v, %v", place, s.Earlier, err)
		}
	}
}

func TestSnapshotCannotBeRead(t *testing.T) {
	says := func(text string) func(context.Context, PodRef, ExecOptions) (int, error) {
		return func(_ context.Context, _ PodRef, o ExecOptions) (int, error) {
			_, err := io.Copy(o.Stdout, strings.NewReader(text))
			return 0, err
		}
	}
	if _, err := (snapshotter{
		exec: says("motd of the image"),
	}).snapshotOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("%v", err)
	}
	if _, err := (snapshotter{
		exec: func(_ context.Context, _ PodRef, o ExecOptions) (int, error) {
			part := make([]byte, 1<<20)
			for range 33 {
				if _, err := o.Stdout.Write(part); err != nil {
					return 0, err
				}
			}
			return 0, nil
		},
	}).snapshotOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 32 MiB") {
		t.Errorf("%v", err)
	}
}
