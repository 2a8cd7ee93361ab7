package nccllog

// Signature is one kind of line that tells how a run went. Its row is all that the reader, the parser and the judge
// of a log need for it.
type Signature struct {
	ID      string   // unique: "duplicate-gpu"
	Origin  Origin   // whose lines it is looked for in
	Words   []string // one of them is in the line, as it is written
	AnyCase bool     // Words are in lower case, and are found in any
	Kind    Kind     // Listed unless the judge has more to say than Class and Cause

	// Read returns the event with its fields; nil: Kind and the errno suffice. The line is another one's unless the
	// kind is this row's. Text begins where the words of NCCL do; where is the place in its sources.
	Read func(text, where string) (Event, bool)

	Class      Class      // where Read tells nothing else
	Cause      CauseID    // the first one of Example; "" for consequences and notices
	Confidence Confidence // of Cause
	What       string     // in a few words: "two ranks on one GPU"
	Example    string     // a whole line, as logs have it
}

// Origin is the program that writes a line.
type Origin int

// Origins of lines.
const (
	Notice    Origin = iota // NCCL, level INFO: the parser finds these by their form
	NCCL                    // NCCL and RCCL, level WARN
	OFI                     // the OFI plugin, level WARN
	Framework               // all others: PyTorch, launchers, schedulers, the kernel
)

// Class is the meaning of a line for the run.
type Class int

// Classes, in the order of their weight.
const (
	NoFault     Class = iota
	Soft              // a fault that a run can survive
	Own               // a failure that follows from nothing else
	Remote            // a failure that may come from another rank that failed before
	Followed          // a consequence of another failure: its rank is a victim
	ByItsFields       // the judge decides by the fields of the event
)

// CauseID names a cause. Package story has the catalogue.
type CauseID string

// Confidence in a cause.
type Confidence string

// Confidences. Certain causes are stated by the log itself, or decided by facts of the machine.
const (
	Certain  Confidence = "certain"
	Likely   Confidence = "likely"
	Possible Confidence = "possible"
)

// match reads a line if it is one of this kind.
func (s *Signature) match(text, low, where string) (Event, bool) {
	if !s.has(text, low) {
		return Event{}, false
	}
	e := Event{Kind: s.Kind, Number: -1, Code: Errno(lastPart(text))}
	if s.Read != nil {
		var ok bool
		if e, ok = s.Read(text, where); !ok || e.Kind != s.Kind {
			return Event{}, false
		}
	}
	if s.Origin == OFI {
		e.Name, e.Code = "OFI", max(numberAfter([]byte(text), "RC: "), 0)
	}
	e.Signature = s.ID
	return e, true
}

func (s *Signature) has(text, low string) bool {
	if s.AnyCase {
		text = low
	}
	return len(s.Words) == 0 || hasAny(text, s.Words...)
}

// recognise returns the event of the first signature of an origin that a line has.
func recognise(from Origin, text, where string) (Event, bool) {
	low := ""
	for i := range signatures {
		s := &signatures[i]
		if s.Origin != from {
			continue
		}
		if s.AnyCase && low == "" {
			low = lower(text)
		}
		if e, ok := s.match(text, low, where); ok {
			return e, true
		}
	}
	return Event{}, false
}
