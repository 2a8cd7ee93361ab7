package segment

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func plug(t *testing.T, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil { // it hangs
		t.Fatal(err)
	}
	return conn
}

func framed(text string) []byte { return append([]byte{0, 0, 0, byte(len(text))}, text...) }

// hears sends on one card until the other has heard: a client that connects is not there at once.
func hears(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	heard := make(chan error, 1)
	go func() {
		for {
			got, err := read(to)
			if err != nil || bytes.Equal(got, framed(text)) {
				heard <- err
				return
			}
		}
	}()
	for tick := time.Tick(5 * time.Millisecond); ; {
		if _, err := from.Write(framed(text)); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-heard:
			if err != nil {
				t.Fatalf("%q was not heard: %v", text, err)
			}
			return
		case <-tick:
		}
	}
}

func TestSegment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "eno5np0")
	s, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := plug(t, path), plug(t, path), plug(t, path)
	hears(t, a, b, "from a to b")
	hears(t, c, a, "from c to a")
	b.Close()
	hears(t, a, c, "b is gone")
	hears(t, plug(t, path), a, "b is back")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(framed("closed")); err == nil {
		if _, err := read(a); err == nil {
			t.Error("a closed segment carries frames")
		}
	}
}

func TestNotAFrame(t *testing.T) {
	if _, err := read(strings.NewReader("GET / HTTP/1.1\r\n")); err == nil {
		t.Error("read as a frame")
	}
}
