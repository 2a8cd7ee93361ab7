package podrun

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/bench/perftest"
	"github.com/railhead/railhead/internal/exit"
)

// Trial is a server and a client of perftest. Without a peer, the client connects to the server in this container; with
// one, it connects to the peer's server, and the server here waits for the client of another peer.
type Trial struct {
	Words string // the options of both ends, without port and host
	Peer  string // the host of the peer's server; empty: no peer
	Port  int    // with a peer: the port of all servers

	Text string    // the output of the client, or of the server if that ended first; if Hung, the last refusal
	Code exit.Code // of the client
	Hung bool      // the client did not finish in time
	Err  error     // a process could not be started

	held           int // a socket that reserves the port; the exec of the command closes it
	argv, env      []string
	server, client process
}

const (
	pollInterval  = 10 * time.Millisecond
	retryInterval = 50          // polls until a client that a peer refused is started again
	killGrace     = time.Second // for killed processes: one that hangs in a driver does not exit
)

// Try runs a program of perftest, searched in PATH of env, at both ends of all trials at once. It returns when every
// client, and every server for a peer's client, has ended. At the limit it kills the processes that still run; they
// also die with this process.
func Try(program string, all []Trial, env []string, limit time.Duration) error {
	begun := time.Now()
	return try(program, all, env, limit, func() time.Duration { return time.Since(begun) })
}

// try is Try with a clock: elapsed returns the time since the start.
func try(program string, all []Trial, env []string, limit time.Duration, elapsed func() time.Duration) error {
	program, err := lookPath(program, env)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the children die with the thread that started them, and have its ambient capabilities
	defer runtime.UnlockOSThread()
	for i := range all {
		all[i].env = env
		all[i].begin(program)
	}
	for n, busy := 1, true; busy && elapsed() < limit+killGrace; n++ {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(pollInterval)}, nil) // a signal may cut it short
		busy = false
		for i := range all {
			past := elapsed()
			busy = all[i].step(past >= limit, n%retryInterval == 0 && past < limit-killGrace) || busy
		}
	}
	return nil
}

// begin starts both ends. The server may not listen yet when the client connects.
func (l *Trial) begin(program string) {
	to, port, err := l.Peer, l.Port, error(nil)
	if to == "" {
		to = "127.0.0.1"
		port, err = l.hold()
	}
	if err == nil {
		l.argv = strings.Fields(fmt.Sprintf("0 -p %d %s %s", port, l.Words, to))
		l.argv[0] = program
		l.server, err = spawn(l.argv[:len(l.argv)-1], l.env)
	}
	if err == nil {
		l.client, err = spawn(l.argv, l.env)
	}
	l.Err, l.Hung = err, err == nil
}

// hold reserves a free TCP port. A socket with SO_REUSEADDR that does not listen leaves the port to a server that sets
// SO_REUSEADDR too, as perftest does, and to no other socket (Linux net/ipv4/inet_connection_sock.c
// inet_csk_bind_conflict). The option is set after bind: before, the kernel might choose the port of another server.
func (l *Trial) hold() (port int, err error) {
	if l.held, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		return 0, err
	}
	if err = syscall.Bind(l.held, &syscall.SockaddrInet4{}); err != nil {
		return 0, err
	}
	at, err := syscall.Getsockname(l.held)
	if err != nil {
		return 0, err
	}
	inet, ok := at.(*syscall.SockaddrInet4)
	if !ok {
		return 0, syscall.EAFNOSUPPORT
	}
	return inet.Port, syscall.SetsockoptInt(l.held, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
}

// step does what is due, and reports whether anything is left to do.
func (l *Trial) step(over, retry bool) bool {
	local := l.Peer == ""
	if l.Hung && !over && l.client.ended() {
		if l.Text == "" {
			l.readClient()
		} else if retry || local { // the server refused the client
			l.Text = ""
			l.client, l.Err = spawn(l.argv, l.env)
			l.Hung = l.Err == nil
		}
	}
	if over || !l.Hung && local {
		l.server.kill()
	}
	if over || !l.Hung {
		l.client.kill()
	}
	return l.Hung && !over || !l.server.ended() || !l.client.ended()
}

// readClient reads the output of a client that has ended. Hung stays true if the client must be started again.
func (l *Trial) readClient() {
	l.Text, l.Code = l.client.takeOutput(), l.client.code
	refused := l.Code != 0 && strings.Contains(l.Text, perftest.Refusal)
	l.Hung = refused && (l.Peer != "" || !l.server.ended())
	if refused && !l.Hung {
		l.Text = l.server.takeOutput()
	}
}
