package rail

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// scanner reads JSON from the front of rest.
type scanner struct{ rest string }

var errTruncated = errors.New("the JSON is truncated")

// next returns the first character of the next token; 0 at the end.
func (s *scanner) next() byte {
	s.rest = strings.TrimLeft(s.rest, " \t\r\n")
	if s.rest == "" {
		return 0
	}
	return s.rest[0]
}

func (s *scanner) expect(want byte) error {
	switch got := s.next(); got {
	case want:
		s.rest = s.rest[1:]
		return nil
	case 0:
		return errTruncated
	default:
		return fmt.Errorf("got %q, want %q", got, want)
	}
}

// object reads an object and calls member for the value after each key.
func (s *scanner) object(member func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.next() == '}' {
		return s.expect('}')
	}
	for {
		key, err := s.text()
		if err == nil {
			err = s.expect(':')
		}
		if err == nil {
			err = member(key)
		}
		if err != nil {
			return err
		}
		if s.next() != ',' {
			return s.expect('}')
		}
		s.rest = s.rest[1:]
	}
}

func (s *scanner) text() (string, error) {
	if err := s.expect('"'); err != nil {
		return "", err
	}
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case '"':
			raw := s.rest[:i]
			s.rest = s.rest[i+1:]
			if !strings.Contains(raw, `\`) {
				return raw, nil
			}
			return strconv.Unquote(`"` + strings.ReplaceAll(raw, `\/`, "/") + `"`)
		}
	}
	return "", errTruncated
}

// maxDepth bounds nesting: the plugin writes three levels.
const maxDepth = 32

func (s *scanner) skip() error {
	depth := 0
	for {
		switch c := s.next(); c {
		case 0:
			return errTruncated
		case '"':
			if _, err := s.text(); err != nil {
				return err
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return errors.New("the JSON is nested too deeply")
			}
			s.rest = s.rest[1:]
		case '}', ']':
			depth--
			s.rest = s.rest[1:]
		default: // a number, a word, a comma, a colon
			end := max(1, strings.IndexAny(s.rest+" ", "{}[]\" \t\r\n,"))
			s.rest = s.rest[min(end, len(s.rest)):]
			if c == ',' || c == ':' {
				continue
			}
		}
		if depth <= 0 {
			return nil
		}
	}
}
