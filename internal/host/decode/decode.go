// Package decode reads the JSON of snapshots in one pass, with Go's next encoding/json: it takes about half of the time
// of the methods of Fact, which have encoding/json read each level again. railhead-pod, which reads one snapshot at a
// time, goes without it.
package decode

import (
	"bytes"
	"io"
	"net/netip"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/railhead/railhead/internal/host"
)

// Snapshot reads the JSON of a snapshot, as encoding/json does except that it takes no key in another case.
func Snapshot(text []byte, s *host.Snapshot) error { return json.Unmarshal(text, s, options) }

// First reads the first JSON value of an input as Snapshot does. Its error is io.EOF if there is none, and wraps
// io.ErrUnexpectedEOF if the value has no end.
func First(in io.Reader, s *host.Snapshot) error {
	text, err := jsontext.NewDecoder(in, options).ReadValue() // whole: a part of a snapshot is none
	if err != nil {
		return err
	}
	return Snapshot(text, s)
}

// options has a function for the facts of each type. encoding/json takes duplicate names and invalid UTF-8, too.
var options = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), unmarshalers())

func unmarshalers() json.Options {
	all := []*json.Unmarshalers{json.UnmarshalFromFunc(text)}
	for _, f := range facts {
		all = append(all, f.unmarshaler)
	}
	return json.WithUnmarshalers(json.JoinUnmarshalers(all...))
}

// facts are the types of facts in a snapshot.
var facts = []factType{
	of[string](), of[int](), of[bool](), of[uint32](), of[uint64](), of[[]netip.Prefix](),
	of[map[string]uint64](), of[host.Caps](), of[host.Function](), of[host.Limit](), of[host.PCIAddress](),
	of[host.PCILink](), of[host.PCIPath](), of[[]host.PlacedFunction](), of[[]host.Process](),
	of[[]host.QueuePair](), of[host.Rate](), of[host.Wire](),
}

type factType struct {
	fact        reflect.Type
	unmarshaler *json.Unmarshalers
}

func of[T any]() factType {
	return factType{reflect.TypeFor[host.Fact[T]](), json.UnmarshalFromFunc(fact[T])}
}

// fact reads the form that is given at host.Fact.
func fact[T any](in *jsontext.Decoder, f *host.Fact[T]) error {
	*f = host.Fact[T]{}
	switch in.PeekKind() {
	case 'n':
		return in.SkipValue()
	case '{':
		object, err := in.ReadValue()
		switch {
		case err != nil:
			return err
		case bytes.Contains(object, []byte(`"unreadable"`)):
			return f.UnmarshalJSON(object)
		}
		f.State = host.Known
		return json.Unmarshal(object, &f.Value, in.Options())
	}
	f.State = host.Known
	return json.UnmarshalDecode(in, &f.Value)
}

// text is fact for the most frequent type, without the detour over reflection.
func text(in *jsontext.Decoder, f *host.Fact[string]) error {
	if in.PeekKind() != '"' {
		return fact(in, f)
	}
	token, err := in.ReadToken()
	if err == nil {
		*f = host.Know(token.String())
	}
	return err
}
