package podrun

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Begin says where a reader of recorded output begins: at the place From, or if that is negative, with the last Tail
// lines (negative: all), without those older than Since (0: of any age).
type Begin struct {
	From  int64
	Since time.Duration
	Tail  int
}

// Follow writes the recorded output until the command has ended. A line at=PLACE goes before records that do not follow
// on the ones before, an empty line shows that the connection works, and the last line is exit=CODE TIME, or lost=WHY.
func (d Detached) Follow(w io.Writer, b Begin) error {
	at, err := d.place(b)
	if err == nil {
		_, err = fmt.Fprintf(w, "at=%d\n", at)
	}
	const heartbeat, pollInterval = 30 * time.Second, 200 * time.Millisecond
	for alive := time.Now(); err == nil; {
		end := d.ended() // before the rest is read: nothing is written later
		var n int64
		if n, err = d.writeFrom(w, &at); n > 0 || err != nil {
			alive = time.Now()
			continue
		}
		if end != "" {
			_, err = fmt.Fprintln(w, end)
			return err
		}
		if time.Since(alive) > heartbeat {
			alive = time.Now()
			_, err = fmt.Fprintln(w)
		}
		<-time.After(pollInterval)
	}
	return err
}

// ended returns how the command ended, empty while it runs.
func (d Detached) ended() string {
	running := d.kept()
	text, err := os.ReadFile(d.path("exit"))
	switch {
	case err == nil:
		return "exit=" + strings.TrimSpace(string(text))
	case running == nil:
		return ""
	case errors.Is(running, fs.ErrNotExist):
		return "lost=the pod has no part of this run: it was replaced since"
	}
	return "lost=" + running.Error()
}

// kept returns nil if the process that records the command lives: it holds a lock.
func (d Detached) kept() error {
	run, err := os.Open(d.path("run"))
	if err != nil {
		return err
	}
	defer run.Close()
	if unix.Flock(int(run.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return errors.New("it ended without an exit code: its container was restarted or ran out of memory")
	}
	return nil
}

// writeFrom writes complete records from a place on, and moves it.
func (d Detached) writeFrom(w io.Writer, at *int64) (int64, error) {
	all := d.segments()
	if len(all) == 0 {
		return 0, nil
	}
	if *at < all[0] { // the oldest output was removed
		*at = all[0]
		if _, err := fmt.Fprintf(w, "at=%d\n", *at); err != nil {
			return 0, err
		}
	}
	i, found := slices.BinarySearch(all, *at)
	if !found {
		i--
	}
	file, err := os.Open(d.segment(all[i]))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	text := make([]byte, 256<<10)
	n, err := file.ReadAt(text, *at-all[i])
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	n = bytes.LastIndexByte(text[:n], '\n') + 1
	if n == 0 {
		return 0, nil
	}
	_, err = w.Write(text[:n])
	*at += int64(n)
	return int64(n), err
}

// place returns the place where to begin.
func (d Detached) place(b Begin) (int64, error) {
	all := d.segments()
	if b.From >= 0 || len(all) == 0 {
		return max(b.From, 0), nil
	}
	oldest := ""
	if b.Since > 0 {
		oldest = time.Now().Add(-b.Since).UTC().Format(timeForm)
	}
	lines := []int64{all[0]} // the places after the last lines
	for _, first := range all {
		file, err := os.Open(d.segment(first))
		if err != nil {
			return 0, err
		}
		lines = lineEnds(file, first, lines, oldest, b.Tail)
		_ = file.Close() // it was only read
	}
	return lines[0], nil
}

// lineEnds adds the places after the lines of a file. It keeps one more than tail, and none before a line that is too
// old.
func lineEnds(file io.Reader, at int64, lines []int64, oldest string, tail int) []int64 {
	for in := bufio.NewReaderSize(file, 256<<10); ; {
		record, err := in.ReadSlice('\n')
		if err != nil {
			return lines
		}
		at += int64(len(record))
		switch {
		case len(record) > len(timeForm) && string(record[:len(timeForm)]) < oldest:
			lines = []int64{at}
		case tail >= 0 && bytes.Contains(record[:min(len(record), len(timeForm)+len(" stdout F "))], []byte(" F ")):
			lines = append(lines, at)
			lines = lines[max(0, len(lines)-tail-1):]
		}
	}
}
