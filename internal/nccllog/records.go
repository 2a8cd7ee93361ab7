package nccllog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/railhead/railhead/internal/lines"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// escapes undoes the escapes of programs that print the representation of a text (JSON, Python's repr).
var escapes = strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\u003c`, "<",
	`\u003e`, ">", `\u001b`, "\x1b", `\x1b`, "\x1b")

// Line reads one line, or several in one with escaped line ends. It does not keep the slice.
func (p *Parser) Line(at event.Place, line []byte) {
	line = prefix.Untagged(prefix.Inside(bytes.TrimRight(line, "\r\n")))
	text, level := message(line)
	if text == "" && bytes.IndexByte(line, '\\') >= 0 && bytes.Contains(line, []byte(`\n`)) {
		text = escapes.Replace(string(line))
		if quote := text[:1]; quote == `"` || quote == `'` {
			text = strings.Trim(text, quote)
		}
	}
	if text == "" {
		readLine(p, at, line)
		return
	}
	before := p.notes.recognized
	for text := range strings.SplitSeq(text, "\n") {
		readLine(p, at, lines.Clean(nil, []byte(text)))
	}
	if p.notes.recognized == before && level && event.Complains(string(line)) {
		keep(p, nil, event.New(event.Complaint, "complaint", quoteOf(at, line)))
	}
}

// message returns the text of a line in JSON, as loggers, log collectors and Docker write it, "" if it is none, and
// whether the level of the line is the writer's. Collectors give all lines of stderr one level.
func message(line []byte) (text string, level bool) {
	if field := bytes.TrimLeft(line, " "); find.Begins(field, `"textPayload": "`) { // gcloud logging read --format=json
		_, value, _ := bytes.Cut(field, []byte(": "))
		if json.Unmarshal(bytes.TrimRight(value, ", "), &text) != nil {
			return "", false
		}
		return strings.TrimSuffix(text, "\n"), false
	}
	if !find.Begins(line, `{"`) {
		return "", false
	}
	var entry struct { // also of Google and Azure
		Message, Msg, Log, Line, Text, TextPayload, LogMessage string
		JSONPayload                                            struct{ Message, Msg string }
	}
	if json.Unmarshal(line, &entry) != nil {
		return "", false
	}
	written := cmp.Or(entry.Message, entry.Msg, entry.Text)
	text = cmp.Or(written, entry.Log, entry.Line, entry.TextPayload, entry.LogMessage, entry.JSONPayload.Message,
		entry.JSONPayload.Msg)
	return strings.TrimSuffix(text, "\n"), written != ""
}

// fewRecords is the most that processes which write at the same time leave in one line; a line with more is a log
// whose line ends were lost.
const fewRecords = 3

// readRecords reads a line with several records: processes wrote into one another's lines, or the line ends were lost.
// Each ends where the next one begins. First is the index of NCCL's first name.
func readRecords(p *Parser, at event.Place, line []byte, first int) {
	joined := bytes.Count(line, []byte("NCCL ")) > fewRecords
	begin, known := 0, map[process]bool(nil)
	if joined {
		known = processesOf(line, first)
		begin = recordStart(line[:first])
		readForeign(p, at, line[:begin])
	}
	for name := first; name >= 0; {
		next, end, following := prefix.Segment(line, name+5), len(line), 0
		if next >= 0 {
			end = name + 10 + nextRecord(p, line[name+10:next], known)
			following = end
			if end == next { // other output hides where it begins
				following = name + 10
			}
		}
		torn := name != first && !(joined && line[begin-1] == ' ')
		text := line[name+5 : name+10+len(bytes.TrimRight(line[name+10:end], " "))]
		p.ranks.seq++
		p.ranks.within = begin > 0
		readSegment(p, at, bytes.TrimRight(line[begin:end], " "), line[begin:name], text, torn)
		p.ranks.within = false
		if joined && find.Begins(text, "INFO") {
			readForeign(p, at, text[4:])
		}
		begin, name = following, next
	}
}

// recordStart returns the index at which the record begins whose prefix is at the end of the text. It is the end of
// the text if the host has other output in front of it.
func recordStart(text []byte) int {
	const longest = 160
	s := prefix.SourceOf(text)
	head := s.Before[max(len(s.Before)-longest, 0):]
	if len(s.Host) == 0 || len(head) > 0 && bytes.IndexByte([]byte(" :])>"), head[len(head)-1]) < 0 {
		return len(text)
	}
	return len(s.Before) - len(head) + prefix.EndsInLabels(head)
}

// processesOf returns the processes that a line with several records names, with the text in front of their names that
// looks like a part of them.
func processesOf(line []byte, first int) map[process]bool {
	found := map[process]bool{}
	for from, name := 0, first; name >= 0; from, name = name+10, prefix.Segment(line, name+5) {
		s := prefix.SourceOf(line[from:name])
		if len(s.Host) > 0 && len(found) < maxRanks {
			found[process{string(s.Host), s.PID, s.Device}] = true
		}
	}
	return found
}

// nextRecord is recordStart for a line without line ends, in which a host may follow a value without a blank:
// "+cuda12.9gpu-0:41:50 [0]" if the line also has gpu-0:41 on its own.
func nextRecord(p *Parser, text []byte, known map[process]bool) int {
	s := prefix.SourceOf(text)
	for i := len(s.Host) - 1; i > 0; i-- {
		if host := string(s.Host[i:]); known[process{host, s.PID, s.Device}] {
			p.ranks.knowHost(host)
			return len(s.Before) + i
		}
	}
	return recordStart(text)
}

// readForeign reads text of other programs that stands between records of a line without line ends.
func readForeign(p *Parser, at event.Place, line []byte) {
	text := find.Valid(line)
	if text == "" || readBenchmark(p, at, line, text) {
		return
	}
	if e, ok := frameworkEvent(p, at, line, text); ok {
		e.Quote = quoteOf(at, line[max(len(line)-maxText, 0):])
		keep(p, nil, e)
	}
}
