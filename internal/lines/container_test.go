package lines

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const at = "2026-03-02T10:00:00.5Z "

func TestContainerLogs(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"whole lines": {at + "stdout F a\n" + at + "stderr F b c\n", at + "a\n" + at + "b c\n"},
		"a line in three parts": {at + "stdout P a\n" + at + "stdout P b\n" + at + "stdout F c\n" + at + "stdout F d\n",
			"\n\n" + at + "abc\n" + at + "d\n"},
		"two streams in turn": {at + "stdout P a\n" + at + "stderr P x\n" + at + "stdout F b\n" + at + "stderr F y\n",
			"\n\n" + at + "ab\n" + at + "xy\n"},
		"more tags":       {at + "stdout P:T a\n" + at + "stdout F:T b\n", "\n" + at + "ab\n"},
		"an empty line":   {at + "stdout F \n" + at + "stdout F a\n", at + "\n" + at + "a\n"},
		"cut in a line":   {at + "stdout P a\n" + at + "stdout P b", "\n" + at + "ab"},
		"an offset":       {"2026-03-02T10:00:00.5+01:00 stdout F a\n", "2026-03-02T10:00:00.5+01:00 a\n"},
		"a foreign line":  {at + "stdout F a\nunable to read\n", at + "a\nunable to read\n"},
		"no such file":    {"stdout F a\n", "stdout F a\n"},
		"another program": {"2026-03-02T10:00:00 INFO F a\n", "2026-03-02T10:00:00 INFO F a\n"},
		"Docker": {`{"log":"0 -\u003e 1\n","stream":"stdout","time":"2026-03-02T10:00:00.5Z"}` + "\n",
			at + "0 -> 1\n"},
		"Docker, a line in two parts": {`{"log":"a","stream":"stdout","time":"2026-03-02T10:00:00.5Z"}` + "\n" +
			`{"log":"b\n","stream":"stdout","time":"2026-03-02T10:00:01Z"}` + "\n", "\n" + at + "ab\n"},
	} {
		for way, in := range map[string]io.Reader{
			"at once": strings.NewReader(c.in), "a pipe": iotest.HalfReader(strings.NewReader(c.in)),
			"with the end": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			if got, err := io.ReadAll(NewInput(in)); string(got) != c.want || err != nil {
				t.Errorf("%s, %s: want %q, got %q, %v", name, way, c.want, got, err)
			}
		}
	}
}

// FuzzInput asserts that lines keep their numbers, and that the text does not depend on the sizes of reads.
func FuzzInput(f *testing.F) {
	f.Add(at + "stdout P a\n" + at + "stderr F b\n" + at + "stdout F c\n")
	f.Add(`{"log":"a","stream":"stdout","time":""}` + "\n" + `{"log":"b\n","stream":"stderr","time":"x"}` + "\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		format := containerFormat([]byte(text))
		if format == nil {
			return
		}
		read := func(in io.Reader) string {
			c := containerReader{in: in, parse: format, begun: map[string][]byte{}}
			all, err := io.ReadAll(&c)
			if err != nil {
				t.Error(err)
			}
			return string(all)
		}
		whole := read(strings.NewReader(text))
		if halves := read(iotest.OneByteReader(strings.NewReader(text))); halves != whole {
			t.Errorf("%q, byte by byte %q", whole, halves)
		}
		if !strings.Contains(text, `\n`) && strings.Count(whole, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q of %q", whole, text)
		}
	})
}
