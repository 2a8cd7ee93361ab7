package pid1

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
)

// kernelLog writes lines to the kernel's log, from where they come to the console, too. The console itself would lose them
// where the serial port has no interrupt, as with an AMD IOMMU that QEMU emulates; the kernel writes without one.
type kernelLog struct{}

func (kernelLog) Write(p []byte) (int, error) {
	f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil { // its folder is not mounted yet
		return os.Stderr.Write(append(p, '\n'))
	}
	defer f.Close()
	for _, r := range records(string(p)) {
		if _, err := f.WriteString(r); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// records are what the kernel's log takes at once for a text. 11 is an error of a user's program: what is less is not shown
// on a quiet console. One without an end of line is not shown before the next one: more of the line might come.
func records(text string) []string {
	const longest = 900 // kernel/printk/printk.c, PRINTKRB_RECORD_MAX, has a little more
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		all = append(all, "<11>lab: "+line[:min(len(line), longest)]+"\n")
	}
	return all
}

// lastWords hands lines on and remembers the end of them.
type lastWords struct {
	to io.Writer

	mu   sync.Mutex
	line []byte // that has no end yet
	last []string
}

// mostWords is how many lines are remembered.
const mostWords = 40

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = append(l.line, p...)
	for {
		line, rest, ok := bytes.Cut(l.line, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		if _, err := l.to.Write(line); err != nil {
			return 0, err
		}
		l.last = append(l.last, string(line))
		if len(l.last) > mostWords {
			l.last = l.last[1:]
		}
		l.line = bytes.Clone(rest)
	}
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimRight(strings.Join(append(l.last, string(l.line)), "\n"), "\n")
}
