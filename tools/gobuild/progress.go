package gobuild

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// downloading is how the go command begins a line about a module that it downloads.
const downloading = "go: downloading "

// first is the time until the first line of progress. It is short: the caller may have been silent for a while.
const first = 3 * time.Second

// progress counts what the go command has done and says so from time to time.
type progress struct {
	name  string
	say   func(string)
	start time.Time
	done  chan struct{}
	ended sync.WaitGroup

	mu       sync.Mutex
	modules  int             // downloaded
	packages map[string]bool // which the program consists of; nil until they are known
	compiled int
	last     string // compiled package
}

func newProgress(name string, say func(string)) *progress {
	p := &progress{name: name, say: say, start: time.Now(), done: make(chan struct{})}
	p.ended.Go(func() {
		next := time.NewTimer(first)
		defer next.Stop()
		for {
			select {
			case <-next.C:
				next.Reset(Every)
				p.say(p.line(time.Since(p.start)))
			case <-p.done:
				return
			}
		}
	})
	return p
}

// stop ends the lines.
func (p *progress) stop() {
	close(p.done)
	p.ended.Wait()
}

// line says how far it is.
func (p *progress) line(after time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := "finding its packages"
	switch {
	case p.packages == nil && p.modules > 0:
		what = fmt.Sprintf("modules downloaded: %d", p.modules)
	case p.compiled > 0:
		// Packages in the build cache are not compiled again.
		what = fmt.Sprintf("%d of at most %d packages, at %s", p.compiled, len(p.packages), p.last)
	case p.packages != nil:
		what = fmt.Sprintf("0 of at most %d packages", len(p.packages))
	}
	return fmt.Sprintf("building %s: %s, %s", p.name, what, after.Round(time.Second))
}

// downloads counts a module that is downloaded.
func (p *progress) downloads(line string) bool {
	if !strings.HasPrefix(line, downloading) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.modules++
	return true
}

// expect notes the packages, one a line.
func (p *progress) expect(packages string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.packages = map[string]bool{}
	for name := range strings.FieldsSeq(packages) {
		p.packages[name] = true
	}
}

// compiles counts a package that is compiled: go build -v says its path.
func (p *progress) compiles(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.packages[line] {
		return false
	}
	p.compiled++
	p.last = line
	return true
}
