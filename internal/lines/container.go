package lines

import (
	"bytes"
	"encoding/json"
	"io"
)

// containerReader turns the log file of a container runtime into the lines that the container wrote, each with its
// time in front. A line that the runtime split stands where its last part was. The other parts leave empty lines, so
// that lines keep their numbers.
type containerReader struct {
	in    io.Reader
	parse func(line []byte) (Record, bool)
	raw   [256 << 10]byte
	kept  int               // bytes at the beginning of raw that are not decoded yet
	begun map[string][]byte // lines without an end, by stream
	out   []byte            // decoded and not read yet
	store []byte
	err   error
}

// Record is a line of such a file.
type Record struct {
	Time, Stream, Text []byte
	Ended              bool // it ends the line of the container
}

// containerFormat returns the parser of the format of a first line, or nil.
func containerFormat(head []byte) func([]byte) (Record, bool) {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	for _, parse := range []func([]byte) (Record, bool){ParseRecord, dockerPart} {
		if _, ok := parse(first); ok {
			return parse
		}
	}
	return nil
}

// ParseRecord reads "2026-03-02T10:00:00.123456789Z stdout P text", the format of containerd and CRI-O (Kubernetes
// pkg/kubelet/kuberuntime/logs). The tag is P for a part of a line, F for its last one.
func ParseRecord(line []byte) (Record, bool) {
	time, rest, _ := bytes.Cut(line, []byte(" "))
	stream, rest, _ := bytes.Cut(rest, []byte(" "))
	tag, text, ok := bytes.Cut(rest, []byte(" "))
	tag, _, _ = bytes.Cut(tag, []byte(":"))
	isStream := string(stream) == "stdout" || string(stream) == "stderr"
	ended := string(tag) == "F"
	ok = ok && len(time) >= len("2026-03-02T10:00:00Z") && time[10] == 'T' && isStream && (ended || string(tag) == "P")
	return Record{time, stream, text, ended}, ok
}

// dockerPart reads {"log":"text\n","stream":"stdout","time":"2026-03-02T10:00:00.123456789Z"} of Docker's json-file
// driver. The text of a part does not end the line.
func dockerPart(line []byte) (Record, bool) {
	var entry struct{ Log, Stream, Time string }
	if !bytes.HasPrefix(line, []byte(`{"log":"`)) || json.Unmarshal(line, &entry) != nil {
		return Record{}, false
	}
	text, ended := bytes.CutSuffix([]byte(entry.Log), []byte("\n"))
	return Record{[]byte(entry.Time), []byte(entry.Stream), text, ended}, true
}

func (c *containerReader) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		var n int
		n, c.err = c.in.Read(c.raw[c.kept:])
		c.decode(c.raw[:c.kept+n])
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

// decode decodes the lines of a text. It keeps the last one if more of it may follow.
func (c *containerReader) decode(text []byte) {
	c.store = c.store[:0]
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		if !ended && c.err == nil && len(text) < len(c.raw) {
			break
		}
		c.line(line)
		if ended {
			c.store = append(c.store, '\n')
		}
		text = rest
	}
	if c.err != nil {
		c.store = append(append(c.store, c.begun["stdout"]...), c.begun["stderr"]...)
	}
	c.out, c.kept = c.store, copy(c.raw[:], text)
}

// line appends the line of the container that ends in a line of the file.
func (c *containerReader) line(line []byte) {
	const longest = 1 << 20
	p, ok := c.parse(line)
	if !ok {
		c.store = append(c.store, line...)
		return
	}
	begun := c.begun[string(p.Stream)]
	if !p.Ended && len(begun) < longest {
		if begun == nil {
			begun = append(append(begun, p.Time...), ' ')
		}
		c.begun[string(p.Stream)] = append(begun, p.Text...)
		return
	}
	if begun != nil {
		c.store = append(c.store, begun...)
		delete(c.begun, string(p.Stream))
	} else {
		c.store = append(append(c.store, p.Time...), ' ')
	}
	c.store = append(c.store, p.Text...)
}
