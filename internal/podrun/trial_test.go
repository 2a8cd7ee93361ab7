//go:build linux

package podrun

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/bench/perftest"
	"github.com/railhead/railhead/internal/exit"
)

// standIn behaves like perftest: -p PORT serves, -p PORT WORD ADDRESS connects. A server is ready when it has written a
// file for its host and port. Both write their process ids. A refused client writes to the pipe, if there is one.
const standIn = `#!/bin/sh
at=$MEET/${4:-${SELF:-127.0.0.1}}:$2
if [ -z "$4" ]; then
	echo $$ > "$at.server"
	[ "$3" != broken ] || { echo " Couldn't allocate MR"; exit 1; }
	[ "$3" != late ] || sleep 0.3
	echo > "$at"
	[ "$3" != peer ] || { while [ ! -e "$at.client" ]; do sleep 0.02; done; exit 0; }
	exec sleep 3600
fi
[ -e "$at" ] || { echo "Couldn't connect to $4:$2"; [ ! -p "$MEET/refused" ] || echo > "$MEET/refused"; exit 1; }
echo $$ > "$at.client"
case $3 in
hangs) echo waiting; exec sleep 3600 ;;
wraps) sleep 3600; exit 0 ;;
fails) echo "Couldn't create IB resources" >&2; exit 3 ;;
dies) kill -KILL $$ ;;
esac
echo "came to $4"
`

// meeting is a folder with the stand-in, and the environment that leads to it.
func meeting(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ib_write_bw"), []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "MEET=" + dir}
}

// limit is only reached by the clock of a test.
const limit = time.Hour

// until returns a clock that stands still until the limit is due.
func until(due func() bool) (elapsed func() time.Duration) {
	return func() time.Duration {
		if due() {
			return limit
		}
		return 0
	}
}

func TestTry(t *testing.T) {
	cases := []struct {
		word, text string
		code       exit.Code
		hung       bool
	}{
		{word: "good", text: "came to 127.0.0.1\n"},
		{word: "late", text: "came to 127.0.0.1\n"},
		{word: "fails", text: "Couldn't create IB resources\n", code: 3},
		{word: "dies", code: exit.Signalled(int(syscall.SIGKILL))},
		{word: "broken", text: " Couldn't allocate MR\n", code: 1},
		{word: "hangs", hung: true},
		{word: "wraps", hung: true},
	}
	dir, env := meeting(t)
	all := make([]Trial, len(cases))
	for i, tc := range cases {
		all[i].Words = tc.word
	}
	// All clients have come but that of the broken server, and all have ended but those that hang.
	onlyHanging := func() bool {
		for i, tc := range cases {
			if all[i].Hung != tc.hung {
				return false
			}
		}
		return len(started(t, dir, "*.client")) == len(cases)-1
	}
	if err := try("ib_write_bw", all, env, limit, until(onlyHanging)); err != nil {
		t.Fatal(err)
	}
	for i, tc := range cases {
		if got := all[i]; got.Hung != tc.hung || got.Err != nil ||
			!tc.hung && (got.Text != tc.text || got.Code != tc.code) {
			t.Errorf("%s: %q, code %d, hung %v, %v", tc.word, got.Text, got.Code, got.Hung, got.Err)
		}
	}
	ended(t, dir, len(cases))
}

// started returns the files of process ids that are written.
func started(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool { return readFile(t, file) == "" })
}

// ended wants as many programs or more to have been started, and none to be left.
func ended(t *testing.T, dir string, least int) {
	t.Helper()
	files := slices.Concat(started(t, dir, "*.server"), started(t, dir, "*.client"))
	if len(files) < least {
		t.Fatalf("started: %v", files)
	}
	for _, file := range files {
		pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s: process %d is left: %v", file, pid, err)
		}
	}
}

// TestTryPeers: two ranks write to each other, though one comes later; its server stays until it was come to.
func TestTryPeers(t *testing.T) {
	dir, env := meeting(t)
	ranks := map[string]*Trial{"a": {Words: "peer", Peer: "b", Port: 7}, "b": {Words: "peer", Peer: "a", Port: 7}}
	pipe := filepath.Join(dir, "refused")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	for name, trial := range ranks {
		g.Go(func() {
			if name == "b" { // when a was refused
				refused, err := os.Open(pipe)
				if err != nil {
					t.Error(err)
					return
				}
				defer refused.Close()
				if _, err := refused.Read(make([]byte, 1)); err != nil {
					t.Error(err)
				}
			}
			all := []Trial{*trial}
			if err := Try("ib_write_bw", all, append([]string{"SELF=" + name}, env...), limit); err != nil {
				t.Error(err)
			}
			*trial = all[0]
		})
	}
	g.Wait()
	for name, trial := range ranks {
		if want := "came to " + trial.Peer + "\n"; trial.Text != want || trial.Code != 0 || trial.Hung ||
			trial.Err != nil {
			t.Errorf("%s: %+v", name, trial)
		}
	}
	ended(t, dir, 4)
}

func TestTryPeerThatIsNotThere(t *testing.T) {
	dir, env := meeting(t)
	all := []Trial{{Words: "peer", Peer: "b", Port: 7}}
	refused := func() bool { return all[0].Text != "" && len(started(t, dir, "*.server")) == 1 }
	if err := try("ib_write_bw", all, env, limit, until(refused)); err != nil {
		t.Fatal(err)
	}
	if !all[0].Hung || !strings.Contains(all[0].Text, perftest.Refusal) {
		t.Errorf("%+v", all[0])
	}
	ended(t, dir, 1)
}

func TestTryEndsWithTheLastClient(t *testing.T) {
	_, env := meeting(t)
	if err := Try("ib_write_bw", []Trial{{Words: "good"}, {Words: "good"}}, env, limit); err != nil {
		t.Fatal(err)
	}
}

func TestTryWithoutTheProgram(t *testing.T) {
	dir := t.TempDir()
	env := []string{"PATH=" + dir}
	if err := Try("ib_write_bw", []Trial{{}}, env, time.Second); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nowhere: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ib_write_bw"), []byte("\x7fELF"), 0o755); err != nil {
		t.Fatal(err)
	}
	all := []Trial{{}}
	if err := Try("ib_write_bw", all, env, time.Second); err != nil || !errors.Is(all[0].Err, syscall.ENOEXEC) ||
		all[0].Hung {
		t.Errorf("of a foreign format: %v, %+v", err, all[0])
	}
}

// TestHold: a server that allows its address to be used again gets the port that is held, and no one else is given it.
func TestHold(t *testing.T) {
	ports := map[int]bool{}
	for range 50 {
		var l Trial
		port, err := l.hold()
		if err != nil || ports[port] {
			t.Fatalf("port %d: %v", port, err)
		}
		defer func() { _ = syscall.Close(l.held) }()
		ports[port] = true
	}
	for port := range ports {
		l, err := net.Listen("tcp4", fmt.Sprintf(":%d", port)) // package net allows it
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
