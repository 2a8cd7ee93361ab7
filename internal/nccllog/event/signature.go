package event

import (
	"iter"
	"slices"
	"sync"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/wordsearch"
)

// Signature is one kind of line that shows how a run went. A row is all that reader, parser and judge need for it.
type Signature struct {
	ID      string   // unique: "duplicate-gpu"
	Kind    Kind     // Listed unless the judge decides by more than Class and Cause
	Words   []string // the line has one of them; empty if Read suffices
	AnyCase bool     // Words are lower case, and match in any case

	// Read adds the fields of the line to the event; nil: the errno suffices. If it returns false or another kind, the
	// line is of another row. Text begins with NCCL's own; where is the place in NCCL's sources.
	Read func(e *Event, text, where string) bool

	Class      Class
	Cause      CauseID    // the first cause of Example; "" for consequences and notices
	Confidence Confidence // of Cause
	What       string     // in a few words: "two ranks on one GPU"
	Example    string     // a whole line, as logs have it
}

// Class is the meaning of a line for the run.
type Class int

// Classes, in the order of their weight.
const (
	NoFault     Class = iota
	Soft              // a run can survive it
	Own               // a failure that has no other cause
	Remote            // a failure that an earlier one on another rank can cause
	Followed          // a consequence of another failure: its rank is a victim
	ByItsFields       // the judge decides by the fields of the event
)

// CauseID names a cause. Package story has the catalogue.
type CauseID string

// Confidence in a cause.
type Confidence string

// Confidences. Certain causes are stated by the log itself or decided by facts of the machine.
const (
	Certain  Confidence = "certain"
	Likely   Confidence = "likely"
	Possible Confidence = "possible"
)

// signatures is the table of lines that show how a run went. Of two rows that match a line, the first one counts. The
// words come from the sources of NCCL 2.4 to 2.30, RCCL, their plugins, PyTorch and the launchers.
var signatures = slices.Concat(ncclSignatures, ofiSignatures, otherSignatures, noticeSignatures,
	diagSignatures, attnSignatures)

// otherSignatures are lines without NCCL's name.
var otherSignatures = slices.Concat(goalSignatures, transferSignatures, frameworkSignatures)

// Signatures returns the rows of the table.
func Signatures() iter.Seq[Signature] { return slices.Values(signatures) }

// SignatureOf returns the row of an event.
func SignatureOf(e Event) Signature {
	i, known := rowByID()[e.Signature]
	if !known {
		i = slices.IndexFunc(signatures, func(s Signature) bool { return s.Kind == e.Kind })
	}
	if i < 0 {
		return Signature{Kind: e.Kind}
	}
	return signatures[i]
}

var rowByID = sync.OnceValue(func() map[string]int {
	rows := map[string]int{}
	for i, s := range signatures {
		rows[s.ID] = i
	}
	return rows
})

// recognize returns the event of the first row that matches a line.
func recognize(rows []Signature, text, where string) (Event, bool) {
	low, pairs := "", wordsearch.PairsOf(text)
	for i := range rows {
		s := &rows[i]
		if len(s.Words) > 0 && s.AnyCase && low == "" && slices.ContainsFunc(s.Words, pairs.MayHave) {
			low = find.Lower(text)
		}
		if e, ok := s.match(text, low, where, pairs); ok {
			return e, true
		}
	}
	return Event{}, false
}

func (s *Signature) match(text, low, where string, p *wordsearch.Pairs) (Event, bool) {
	in := text
	if s.AnyCase {
		in = low
	}
	if len(s.Words) > 0 && !p.HaveAny(in, s.Words) {
		return Event{}, false
	}
	e := New(s.Kind, s.ID, Quote{})
	if s.Read == nil {
		e.Code = codes.Errno(find.LastPart(text))
		return e, true
	}
	return e, s.Read(&e, text, where) && e.Kind == s.Kind
}
