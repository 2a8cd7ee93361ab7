package launch

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

// Trial is a server and a client of perftest. They meet in this container; with a peer, the client goes to the server
// that the peer has, and the server waits for the client of another.
type Trial struct {
	Words string // of both, beside where they meet
	Peer  string // the host of the peer's server; "": here
	Port  int    // with a peer: where all servers listen

	Text string    // what the client said, or why its server was not there; of one that hung, that it was refused until then
	Code exit.Code // the client's
	Hung bool      // they were killed when their time was over
	Err  error     // they could not be started

	held           int // a socket that holds the port; closed by the exec of the command, as all that was opened here
	argv           []string
	server, client process
}

const (
	turn  = 10 * time.Millisecond // until the processes are looked at again
	turns = 50                    // until a client asks a peer again that was not there
	dying = time.Second           // that killed processes are waited for: one that hangs in a driver does not die
)

// Try runs a program of perftest, which PATH of env leads to, at both ends of all trials at once, until every client
// has ended, and every server that a peer's client comes to, or limit is over. What then still runs is killed; so it
// is when this process dies, whatever it dies of.
func Try(program string, all []Trial, env []string, limit time.Duration) error {
	program, err := lookPath(program, env)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the children die with the thread that made them, and have its ambient capabilities
	defer runtime.UnlockOSThread()
	for i := range all {
		all[i].begin(program, env)
	}
	begun := time.Now()
	for n, busy := 1, true; busy && time.Since(begun) < limit+dying; n++ {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(turn)}, nil) // a signal may cut it short
		busy = false
		for i := range all {
			past := time.Since(begun)
			busy = all[i].step(env, past >= limit, n%turns == 0 && past < limit-dying) || busy
		}
	}
	return nil
}

// begin starts both ends. The client may come too early.
func (l *Trial) begin(program string, env []string) {
	to, port, err := l.Peer, l.Port, error(nil)
	if to == "" {
		to = "127.0.0.1"
		port, err = l.hold()
	}
	if err == nil {
		l.argv = strings.Fields(fmt.Sprintf("0 -p %d %s %s", port, l.Words, to))
		l.argv[0] = program
		l.server, err = spawn(l.argv[:len(l.argv)-1], env)
	}
	if err == nil {
		l.client, err = spawn(l.argv, env)
	}
	l.Err, l.Hung = err, err == nil
}

// hold takes a free TCP port. A socket that does not listen and allows its address to be used again leaves the port
// to a server that allows it, too, as perftest does, and to no one else (Linux net/ipv4/inet_connection_sock.c
// inet_csk_bind_conflict). It allows it only once it has the port: before, the kernel might choose the port of
// another server.
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

// step does what is next, and reports whether anything is left to do. A client that was refused is started again.
func (l *Trial) step(env []string, over, again bool) bool {
	here := l.Peer == ""
	switch {
	case over || !l.Hung || !l.client.ended():
	case l.Text == "":
		l.Text, l.Code = l.client.takeOutput(), l.client.code
		refused := l.Code != 0 && strings.Contains(l.Text, perftest.Refusal)
		if l.Hung = refused && (!here || !l.server.ended()); refused && !l.Hung {
			l.Text = l.server.takeOutput()
		}
	case again || here:
		l.Text = ""
		l.client, l.Err = spawn(l.argv, env)
		l.Hung = l.Err == nil
	}
	if over || !l.Hung && here {
		l.server.kill()
	}
	if over || !l.Hung {
		l.client.kill()
	}
	return l.Hung && !over || !l.server.ended() || !l.client.ended()
}
