package report

import (
	"fmt"
	"time"
)

// Pace says how fast bars have moved so far. It predicts nothing: parts run in turn or all at once, and the next one
// may take longer than all before it.
type Pace struct {
	bars map[string]*moved // by name
}

type moved struct {
	begun, last  time.Time // when it was first seen, and when it grew
	first, count int
}

// Note returns what is known of a bar, empty until it has moved: "3 in 31m0s, the last at 14:05:10".
func (p *Pace) Note(b Bar, now time.Time) string {
	m := p.bars[b.Name]
	switch {
	case m == nil:
		m = &moved{begun: now, first: b.Count, count: b.Count}
		if p.bars == nil {
			p.bars = map[string]*moved{}
		}
		p.bars[b.Name] = m
	case b.Count > m.count:
		m.last = now
	}
	m.count = b.Count
	if b.Count <= m.first || b.Count >= b.Total {
		return ""
	}
	return fmt.Sprintf("%d in %v, the last at %s", b.Count-m.first, m.last.Sub(m.begun).Round(time.Second),
		m.last.Format(time.TimeOnly))
}
