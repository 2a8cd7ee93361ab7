package causes

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/explain/network"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/scan"
	"github.com/railhead/railhead/internal/story"
)

// otherText is more than the lines that every log is read from whatever they hold.
var otherText = strings.Repeat("step 7 | loss 0.31 | tokens 4096 | grad norm 1.2\n", scan.FirstLines+100)

// TestSignatures: the example of every row is found by the real reader far behind the beginning of a log, as the
// event of that row, with its class and its cause.
func TestSignatures(t *testing.T) {
	seen := map[string]bool{}
	for s := range event.Signatures() {
		t.Run(s.ID, func(t *testing.T) {
			switch {
			case seen[s.ID]:
				t.Fatal("the ID stands twice")
			case s.Example == "" || s.What == "":
				t.Fatal("the row has no example, or no words for it")
			case s.Cause != "" && entryOf(s.Cause).Title == "":
				t.Fatalf("the cause %s has no entry in internal/explain/causes/catalogue.go", s.Cause)
			}
			seen[s.ID] = true
			var p nccllog.Parser
			if _, err := p.Read("train.log", strings.NewReader(otherText+s.Example+"\n"+otherText)); err != nil {
				t.Fatal(err)
			}
			found, known := eventOf(p.Log(), s.ID)
			if !known {
				t.Fatalf("%q is not read as %s, but as %q: an earlier row may fit it", s.Example, s.ID, rowsOf(p.Log()))
			}
			if class := found.Class(); s.Class != class && s.Class != event.ByItsFields {
				t.Errorf("class %d, want %d", class, s.Class)
			}
			cause, confidence := firstCause(p.Log(), found)
			if cause != s.Cause || confidence != s.Confidence {
				t.Errorf("cause %q (%s), want %q (%s)", cause, confidence, s.Cause, s.Confidence)
			}
		})
	}
}

func eventOf(log nccllog.Log, id string) (event.Event, bool) {
	for _, run := range log.Runs {
		for _, e := range run.Events {
			if event.SignatureOf(e).ID == id {
				return e, true
			}
		}
	}
	return event.Event{}, false
}

// rowsOf returns the rows that the lines of a log were read as.
func rowsOf(log nccllog.Log) []string {
	ids := []string{}
	for _, run := range log.Runs {
		for _, e := range run.Events {
			ids = append(ids, event.SignatureOf(e).ID)
		}
	}
	return ids
}

// firstCause returns the first cause that the event alone suggests.
func firstCause(log nccllog.Log, e event.Event) (story.CauseID, story.Confidence) {
	failed := failures.Of(facts.Of(log.Runs[0]))
	if found := causesOf(newInput(failed, network.Of(failed), nil), e); len(found) > 0 {
		return found[0].id, found[0].confidence
	}
	return "", ""
}
