package topology

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/railhead/railhead/internal/host"
)

// RefusedError says in NCCL's words why its parser refuses a topology file. NCCL's initialization fails then.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

// refused writes \t for a tab that the parser met, and a blank for any other control character.
func refused(format string, args ...any) error {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\t", `\t`)
	return &RefusedError{strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text)}
}

// reader reads the markup of a topology file as NCCL's own parser does (src/graph/xml.cc of 2.28.9; single
// quotes from 2.27 on). It takes less than XML: no declaration, no text, no tabs, and no line break inside a tag.
type reader struct{ rest string }

// element is a tag with its attributes.
type element struct {
	name       string
	kind       elementKind
	attributes []attribute
}

type attribute struct{ name, value string }

type elementKind int

const (
	opening elementKind = iota
	closing
	empty
)

func (e element) attribute(name string) (value string, found bool) {
	i := slices.IndexFunc(e.attributes, func(a attribute) bool { return a.name == name })
	if i < 0 {
		return "", false
	}
	return e.attributes[i].value, true
}

func (e element) number(name string) (n int, found bool) {
	text, found := e.attribute(name)
	i, _ := host.Strtol(text, 0)
	return int(i), found
}

const (
	maxText       = 254 // bytes of a name or a value
	maxAttributes = 16
)

// next returns the next tag that is no comment, io.EOF at the end of the file.
func (r *reader) next() (element, error) {
	for {
		r.rest = strings.TrimLeft(r.rest, " \n\r")
		if r.rest == "" {
			return element{}, io.EOF
		}
		if r.rest[0] != '<' {
			return element{}, refused("XML Parse error : expecting '<', got '%c'", r.rest[0])
		}
		r.rest = r.rest[1:]
		before := r.rest
		name, end, err := r.name()
		switch {
		case err != nil:
			return element{}, err
		case name == "" && end == '/':
			return r.closing()
		case !strings.HasPrefix(name, "!--"):
			return r.opening(name, end)
		}
		_, after, ended := strings.Cut(before[len("!--"):], "-->")
		if !ended {
			return element{}, refused("XML Parse error : unterminated comment")
		}
		r.rest = after
	}
}

func (r *reader) closing() (element, error) {
	name, end, err := r.name()
	if err == nil && end != '>' {
		err = refused("XML Parse error : unexpected trailing %c in closing tag %s", end, name)
	}
	return element{name: name, kind: closing}, err
}

func (r *reader) opening(name string, end byte) (element, error) {
	e := element{name: name}
	for end == ' ' {
		a, next, err := r.attribute()
		if err != nil {
			return e, err
		}
		if end = next; len(e.attributes) < maxAttributes {
			e.attributes = append(e.attributes, a)
		}
	}
	if end == '/' {
		e.kind = empty
		var err error
		if _, end, err = r.name(); err != nil {
			return e, err
		}
	}
	if end != '>' {
		return e, refused("XML Parse : expected >, got '%c'", end)
	}
	return e, nil
}

// name reads a name up to the delimiter that ends it. It has no value.
func (r *reader) name() (name string, end byte, err error) {
	name, end, err = r.word()
	if err == nil && end == '=' {
		err = refused("XML Parse : Unexpected value with name %s", name)
	}
	return name, end, err
}

// attribute reads a name, its value if it has one, and what follows.
func (r *reader) attribute() (a attribute, end byte, err error) {
	if a.name, end, err = r.word(); err != nil || end != '=' {
		return a, end, err
	}
	quote, err := r.byte()
	if err == nil && quote != '"' && quote != '\'' {
		err = refused("XML Parse : Expected (double) quote.")
	}
	if err != nil {
		return a, 0, err
	}
	value, after, closed := strings.Cut(r.rest, string(rune(quote)))
	switch {
	case len(value) >= maxText:
		return a, 0, refused("Error : value %s too long (max %d)", value[:maxText], maxText+1)
	case !closed:
		return a, 0, errEnd
	}
	a.value, r.rest = value, after
	end, err = r.byte()
	return a, end, err
}

// word reads up to one of the characters that end a name.
func (r *reader) word() (word string, end byte, err error) {
	i := strings.IndexAny(r.rest, "= >/\n\r")
	switch {
	case i > maxText || i < 0 && len(r.rest) > maxText:
		return "", 0, refused("Error : name %s too long (max %d)", r.rest[:maxText], maxText+1)
	case i < 0:
		return "", 0, errEnd
	}
	word, end, r.rest = r.rest[:i], r.rest[i], r.rest[i+1:]
	return word, end, nil
}

var errEnd = refused("XML Parse : Unexpected EOF")

func (r *reader) byte() (byte, error) {
	if r.rest == "" {
		return 0, errEnd
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	return c, nil
}
