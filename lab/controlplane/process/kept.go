package process

import (
	"sync"
	"time"
)

// again is the time before a kept process restarts: less than the kubelet's ten seconds, because no test here waits for
// the cause of its end.
const again = 250 * time.Millisecond

// Kept is a process that is started again whenever it ends, as the kubelet does with a container.
type Kept struct {
	group   *Group
	command Command

	mu      sync.Mutex
	process *Process
	stopped bool
	done    chan struct{}
}

// Keep starts a process and keeps it running until Kill.
func (g *Group) Keep(c Command) (*Kept, error) {
	first, err := g.Start(c)
	if err != nil {
		return nil, err
	}
	k := &Kept{group: g, command: c, process: first, done: make(chan struct{})}
	go k.keep()
	return k, nil
}

// Process returns the process that was started last.
func (k *Kept) Process() *Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.process
}

func (k *Kept) keep() {
	defer close(k.done)
	for k.next() {
		<-k.Process().Exited()
		<-time.After(again)
	}
}

// next starts the process where it ended. It reports false when it is not to run any more, or cannot.
func (k *Kept) next() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return false
	}
	if k.process.Err() == nil {
		return true
	}
	p, err := k.group.Start(k.command)
	if err != nil {
		return false // the one that ended stays, and with it why
	}
	k.process = p
	return true
}

// Kill ends the process for good. To kill one that has ended, or none, is no error.
func (k *Kept) Kill() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.stopped = true
	k.mu.Unlock()
	k.Process().Kill()
	<-k.done
}
