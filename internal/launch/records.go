package launch

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/lines"
)

// records takes what `railhead-pod follow` writes and separates the streams of the command.
type records struct {
	out, errs io.Writer
	place     int64 // of the next record; negative: not known yet
	partial   []byte
	heard     bool // something came

	ended bool
	code  int
	at    time.Time // of the end
	lost  string    // why the command ended without a code
}

// Write implements io.Writer.
func (d *records) Write(p []byte) (int, error) {
	d.partial, d.heard = append(d.partial, p...), true
	for {
		line, rest, ok := bytes.Cut(d.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		d.line(line)
		d.partial = rest
	}
}

func (d *records) line(line []byte) {
	r, ok := lines.ParseRecord(line)
	if !ok {
		key, value, _ := strings.Cut(string(line), "=")
		d.control(key, value)
		return
	}
	d.place += int64(len(line) + 1)
	to, text := d.out, bytes.Clone(r.Text)
	if string(r.Stream) == "stderr" {
		to = d.errs
	}
	if r.Ended {
		text = append(text, '\n')
	}
	_, _ = to.Write(text) // a lineWriter returns no errors
}

func (d *records) control(key, value string) {
	switch key {
	case "at":
		place, err := strconv.ParseInt(value, 10, 64)
		if err == nil {
			d.place = place
		}
	case "lost":
		d.lost = value
	case "exit":
		code, at, _ := strings.Cut(value, " ")
		var err error
		if d.code, err = strconv.Atoi(code); err == nil {
			d.ended = true
			d.at, _ = time.Parse(time.RFC3339Nano, at)
		}
	}
}
