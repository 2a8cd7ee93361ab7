package service

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/railhead/railhead/lab/machines/guest"
)

// script is a service that runs a shell script, in which listen listens to $FIFO.
func script(fifo, text string) Program {
	return Program{
		Service: guest.Kubelet,
		Path:    "/bin/sh",
		Args:    []string{"-c", text},
		Env:     []string{"PATH=/usr/bin:/bin", "FIFO=" + fifo},
	}
}

// listen makes a fifo and returns what services write into it, line by line.
func listen(t *testing.T) (fifo string, heard <-chan string) {
	t.Helper()
	fifo = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDWR, 0) // with a writer of its own it has no end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	all := make(chan string, 16)
	go func() {
		for lines := bufio.NewScanner(f); lines.Scan(); {
			all <- lines.Text()
		}
	}()
	return fifo, all
}

func newServices(t *testing.T) (*Services, chan string) {
	t.Helper()
	said := make(chan string, 16)
	s := &Services{
		Logs:  filepath.Join(t.TempDir(), "log"),
		Pause: time.Millisecond,
		Say:   func(line string) { said <- line },
	}
	t.Cleanup(func() {
		err := s.Order(guest.ServiceOrder{Service: guest.Kubelet})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	return s, said
}

// hears waits for a line.
func hears(t *testing.T, heard <-chan string, want string) {
	t.Helper()
	select {
	case got := <-heard:
		if got != want {
			t.Fatalf("heard %q, want %q", got, want)
		}
	case <-time.After(5 * time.Minute): // it hangs
		t.Fatalf("heard nothing, want %q", want)
	}
}

func TestOrders(t *testing.T) {
	s, said := newServices(t)
	fifo, heard := listen(t)
	if err := s.Start(script(fifo, "echo start $$ >$FIFO; exec sleep 1000")); err != nil {
		t.Fatal(err)
	}
	order := func(running bool) {
		t.Helper()
		if err := s.Order(guest.ServiceOrder{Service: guest.Kubelet, Running: running}); err != nil {
			t.Fatal(err)
		}
	}
	first := <-heard
	order(true) // it runs
	order(false)
	order(false)
	order(true)
	if second := <-heard; second == first {
		t.Errorf("%s again: it was not stopped", first)
	}
	select {
	case line := <-said:
		t.Errorf("said of what was ordered: %s", line)
	default:
	}
	if times, how := s.Ends(guest.Kubelet); times != 0 {
		t.Errorf("ended %d times by itself: %s", times, how)
	}
	if err := s.Order(guest.ServiceOrder{Service: guest.DNS}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a service that is not there: %v", err)
	}
}

func TestEndsByItself(t *testing.T) {
	s, said := newServices(t)
	if err := s.Start(script("", "exit 3")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if line := <-said; !strings.HasPrefix(line, "kubelet ended: exit status 3") {
			t.Errorf("said %q", line)
		}
	}
	if times, how := s.Ends(guest.Kubelet); times < 2 || how != "exit status 3" {
		t.Errorf("ended %d times, the last time by %s", times, how)
	}
}

func TestMemlock(t *testing.T) {
	s, _ := newServices(t)
	fifo, heard := listen(t)
	p := script(fifo, "while [ $(ulimit -l) != 64 ]; do :; done; echo limited >$FIFO; exec sleep 1000")
	p.Memlock = 64 << 10
	if err := s.Start(p); err != nil {
		t.Fatal(err)
	}
	hears(t, heard, "limited")
}

func TestNoProgram(t *testing.T) {
	s, _ := newServices(t)
	if err := s.Start(Program{Service: guest.Kubelet, Path: "/no/such/program"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
