// Package segment is the wire between network cards of virtual machines: QEMU's `-netdev stream` connects to it, and
// each frame that one card sends reaches all others. A machine may leave and come back, and there is nothing of it on
// the host.
package segment

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
)

// mostFrame limits a frame: a jumbo MTU, a segment that the card splits itself (64 KiB), and QEMU's header.
const mostFrame = 1 << 17

// queue is the number of frames that wait for a slow card. More are lost, as in a switch.
const queue = 1024

// Segment is one layer-2 segment, with a port for each card that is connected.
type Segment struct {
	listener net.Listener
	mu       sync.Mutex
	ports    []*port
	closed   bool
	done     sync.WaitGroup
}

// port is one card.
type port struct {
	conn   net.Conn
	frames chan []byte
}

// Listen makes a segment that cards connect to by a unix socket at path.
func Listen(path string) (*Segment, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("make a network segment: %w", err)
	}
	s := &Segment{listener: l}
	s.done.Go(s.accept)
	return s, nil
}

// Close disconnects all cards.
func (s *Segment) Close() error {
	err := s.listener.Close() // which removes the socket's file, too
	s.mu.Lock()
	s.closed = true
	for _, p := range s.ports {
		p.conn.Close()
	}
	s.mu.Unlock()
	s.done.Wait()
	return err
}

func (s *Segment) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		p := &port{conn, make(chan []byte, queue)}
		s.mu.Lock()
		if s.closed {
			conn.Close()
		} else {
			s.ports = append(s.ports, p)
			s.done.Go(p.write)
			s.done.Go(func() { s.serve(p) })
		}
		s.mu.Unlock()
	}
}

// serve carries the frames of a card to the others until it leaves.
func (s *Segment) serve(p *port) {
	from := bufio.NewReaderSize(p.conn, mostFrame)
	for {
		frame, err := read(from)
		if err != nil {
			break
		}
		s.carry(p, frame)
	}
	s.mu.Lock()
	s.ports = slices.DeleteFunc(s.ports, func(other *port) bool { return other == p })
	close(p.frames) // no port sends to one that is not in the list
	s.mu.Unlock()
	p.conn.Close()
}

// read returns a frame with its length before it, as QEMU writes it (net/stream.c): four bytes, big endian.
func read(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > mostFrame {
		return nil, errors.New("not a frame")
	}
	frame := make([]byte, 4+n)
	copy(frame, head[:])
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

func (s *Segment) carry(from *port, frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.ports {
		if p == from {
			continue
		}
		select {
		case p.frames <- frame:
		default: // lost
		}
	}
}

func (p *port) write() {
	to := bufio.NewWriterSize(p.conn, mostFrame)
	for frame := range p.frames {
		_, err := to.Write(frame)
		if err == nil && len(p.frames) == 0 {
			err = to.Flush()
		}
		if err != nil {
			p.conn.Close() // and serve ends
		}
	}
}
