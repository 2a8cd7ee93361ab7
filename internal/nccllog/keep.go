package nccllog

import "strings"

// word returns one copy of a text for all ranks that have it.
func (p *vocabulary) word(text []byte) string {
	if w, ok := p.words[string(text)]; ok {
		return w
	}
	w := strings.ToValidUTF8(string(text[:min(len(text), maxText)]), "")
	if p.words == nil {
		p.words = map[string]string{}
	}
	if len(p.words) < maxWords {
		p.words[string(text)] = w
	}
	return w
}

// keep counts an event and keeps the first ones. It returns the index of the event, or -1.
func (p *notices) keep(r *rank, e Event) int {
	p.counts[e.Kind]++
	most := maxOfKind
	if e.Kind == Warning {
		most = maxWarnings
	}
	if p.counts[e.Kind] > most && r == nil || len(p.events) >= maxEvents {
		p.truncated = true
		return -1
	}
	e.Rank, e.Seq = -1, p.seq
	if r != nil {
		if r.kept[e.Kind] >= perRank || p.counts[e.Kind] > most && r.kept[e.Kind] > 0 {
			return -1
		}
		r.kept[e.Kind]++
		e.Rank = r.index
		if e.Number < 0 {
			e.Number = r.Number
		}
	} else if p.orphans[e.Kind]++; p.orphans[e.Kind] > 64*perRank {
		return -1
	}
	e.Time = timeOf(e.Text)
	p.events = append(p.events, e)
	return len(p.events) - 1
}
