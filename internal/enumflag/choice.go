// Package enumflag is a command-line flag with a fixed set of values.
package enumflag

import (
	"fmt"
	"slices"
	"strings"
)

// Value is the value of the flag. It implements pflag.Value.
type Value struct {
	target *string
	values []string
}

// New returns a flag value that is stored in target, which holds the default.
func New(target *string, values ...string) Value { return Value{target, values} }

func (v Value) String() string { return *v.target }

// Type returns the values as the help shows them.
func (v Value) Type() string { return strings.Join(v.values, "|") }

// Set stores one of the values.
func (v Value) Set(s string) error {
	if !slices.Contains(v.values, s) {
		return fmt.Errorf("must be one of %s", strings.Join(v.values, ", "))
	}
	*v.target = s
	return nil
}
