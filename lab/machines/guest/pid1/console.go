package pid1

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
)

// kernelLog writes lines to the kernel's log, from where they come to the console, too. The console itself would lose
// them where the serial port has no interrupt, as with an AMD IOMMU that QEMU emulates; the kernel writes without
// one.
type kernelLog struct{}

func (kernelLog) Write(p []byte) (int, error) {
	f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil { // its folder is not mounted yet
		_, err := os.Stderr.WriteString(string(p) + "\n")
		return len(p), err
	}
	defer f.Close()
	for _, r := range records(string(p)) {
		if _, err := f.WriteString(r); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// records splits a text into records of the kernel's log. 11 is an error of a user's program: a quiet console hides
// anything less severe. A record without an end of line is not shown before the next one.
func records(text string) []string {
	const longest = 900 // kernel/printk/printk.c, PRINTKRB_RECORD_MAX, has a little more
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		all = append(all, "<11>lab: "+line[:min(len(line), longest)]+"\n")
	}
	return all
}

// lastWords hands lines on and remembers the last ones, or the first ones of a crash: a Go program's last words are its
// registers.
type lastWords struct {
	to io.Writer

	mu      sync.Mutex
	line    []byte // that has no end yet
	words   []string
	crashed bool
}

// mostWords is the number of lines that are kept.
const mostWords = 30

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
		l.remember(string(line))
		l.line = bytes.Clone(rest)
	}
}

func (l *lastWords) remember(line string) {
	for _, first := range []string{"panic: ", "fatal error: ", "SIG"} {
		if !l.crashed && strings.HasPrefix(line, first) {
			l.crashed, l.words = true, nil
		}
	}
	switch {
	case len(l.words) < mostWords:
		l.words = append(l.words, line)
	case !l.crashed:
		l.words = append(l.words[1:], line)
	}
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(strings.Join(append(l.words, string(l.line)), "\n"))
}
