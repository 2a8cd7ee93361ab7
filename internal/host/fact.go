package host

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Knowledge says how much is known about a fact.
type Knowledge int

// Absent, unreadable and zero are three different things.
const (
	Absent     Knowledge = iota // the machine does not have it
	Known                       // it was read
	Unreadable                  // it may be there and could not be read
)

// Fact is one thing that was looked for on a machine.
// In JSON a known fact is its value, an absent one is left out or null, an unreadable one is {"unreadable": reason}.
type Fact[T any] struct {
	Value T         // meaningful only when State is Known
	State Knowledge //
	Why   string    // the reason, when State is Unreadable
}

// Know returns the known fact v.
func Know[T any](v T) Fact[T] { return Fact[T]{Value: v, State: Known} }

// Unread returns a fact that could not be read, and why.
func Unread[T any](why string) Fact[T] { return Fact[T]{State: Unreadable, Why: why} }

// Get returns the value and whether it is known.
func (f Fact[T]) Get() (T, bool) { return f.Value, f.State == Known }

// Or returns the value, or fallback when it is not known.
func (f Fact[T]) Or(fallback T) T {
	if f.State == Known {
		return f.Value
	}
	return fallback
}

// IsKnown reports whether the fact was read.
func (f Fact[T]) IsKnown() bool { return f.State == Known }

// IsUnreadable reports whether the fact could not be read.
func (f Fact[T]) IsUnreadable() bool { return f.State == Unreadable }

// IsZero reports whether the fact is absent; encoding/json then leaves it out (omitzero).
func (f Fact[T]) IsZero() bool { return f.State == Absent }

// String renders the value; "-" when absent, "?" when unreadable.
func (f Fact[T]) String() string {
	return factText(f.State, f.Value)
}

func factText(state Knowledge, value any) string {
	switch state {
	case Known:
		return fmt.Sprint(value)
	case Unreadable:
		return "?"
	default:
		return "-"
	}
}

type unreadable struct {
	Reason *string `json:"unreadable"`
}

// MarshalJSON implements the form given at Fact.
func (f Fact[T]) MarshalJSON() ([]byte, error) {
	return marshalFact(f.State, f.Value, f.Why)
}

// marshalFact exists once, unlike the methods of Fact, which exist for each type.
func marshalFact(state Knowledge, value any, why string) ([]byte, error) {
	switch state {
	case Known:
		return json.Marshal(value)
	case Unreadable:
		return json.Marshal(unreadable{&why})
	default:
		return []byte("null"), nil
	}
}

// UnmarshalJSON implements the form given at Fact.
func (f *Fact[T]) UnmarshalJSON(data []byte) error {
	*f = Fact[T]{}
	return unmarshalFact(data, &f.State, &f.Value, &f.Why)
}

func unmarshalFact(data []byte, state *Knowledge, value any, why *string) error {
	if string(data) == "null" {
		return nil
	}
	if data[0] == '{' && bytes.Contains(data, unreadableKey) { // most objects do not have it, and are read once
		var u unreadable
		if json.Unmarshal(data, &u) == nil && u.Reason != nil {
			*state, *why = Unreadable, *u.Reason
			return nil
		}
	}
	if err := json.Unmarshal(data, value); err != nil {
		return err
	}
	*state = Known
	return nil
}

var unreadableKey = []byte(`"unreadable"`)

// Convert parses a known text. A text that does not parse is unreadable.
func Convert[T any](f Fact[string], parse func(string) (T, error)) Fact[T] {
	if !f.IsKnown() {
		return Fact[T]{State: f.State, Why: f.Why}
	}
	v, err := parse(f.Value)
	if err != nil {
		return Unread[T](err.Error())
	}
	return Know(v)
}
