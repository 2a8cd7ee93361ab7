package launch

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for name, c := range map[string]struct {
		color  bool
		chunks []string
		want   string
	}{
		"a line in pieces":                 {false, []string{"lo", "ss ", "0.3\n"}, "[3] loss 0.3\n"},
		"several lines in a piece":         {false, []string{"a\nb\n\nc"}, "[3] a\n[3] b\n[3] \n[3] c\n"},
		"the end lacks its line feed":      {false, []string{"a"}, "[3] a\n"},
		"nothing":                          {false, []string{"", ""}, ""},
		"lines of Windows":                 {false, []string{"a\r\nb\r", "\nc\r\n"}, "[3] a\n[3] b\n[3] c\n"},
		"an empty line of Windows is lost": {false, []string{"a\r\n\r\nb\n"}, "[3] a\n[3] b\n"},
		"a progress bar": {
			false,
			[]string{"\r 10%", "\r 20%\r 30%", "\n"},
			"[3]  10%\n[3]  20%\n[3]  30%\n",
		},
		"a line as long as may be": {false, []string{long + "\n"}, "[3] " + long + "\n"},
		"a line longer than may be": {
			false,
			[]string{long + "yz\nb\n"},
			"[3] " + long + "\n[3] yz\n[3] b\n",
		},
		"never a line feed": {
			false,
			[]string{long, long, "y"},
			"[3] " + long + "\n[3] " + long + "\n[3] y\n",
		},
		"cut between characters": {
			false,
			[]string{long[1:] + "äb\n"},
			"[3] " + long[1:] + "\n[3] äb\n",
		},
		"bytes that are no characters": {
			false,
			[]string{long[2:] + "\xff\xff\xff\n"},
			"[3] " + long[2:] + "\xff\xff\n[3] \xff\n",
		},
		"in colour": {
			true,
			[]string{"a\nb\n"},
			"\x1b[35m[3]\x1b[0m a\n\x1b[35m[3]\x1b[0m b\n",
		},
		"a colour that the rank leaves on": {
			true,
			[]string{"\x1b[31mred\nplain\n"},
			"\x1b[35m[3]\x1b[0m \x1b[31mred\x1b[0m\n\x1b[35m[3]\x1b[0m plain\n",
		},
		"without colour its own stays as it came": {false, []string{"\x1b[31mred\n"}, "[3] \x1b[31mred\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			s := NewConsole(&out, &out)
			l := newLineWriter(s, &s.out, 3, c.color, nil)
			for _, chunk := range c.chunks {
				if n, err := l.Write([]byte(chunk)); n != len(chunk) || err != nil {
					t.Errorf("Write: %d, %v", n, err)
				}
			}
			l.Close()
			_, _ = l.Write([]byte("too late\n"))
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLinesTogether has many ranks write pieces of lines at once.
func TestLinesTogether(t *testing.T) {
	var out bytes.Buffer
	s := NewConsole(&out, &out)
	var all sync.WaitGroup
	const ranks, each = 16, 200
	for rank := range ranks {
		all.Go(func() {
			l := newLineWriter(s, &s.out, rank, false, nil)
			for i := range each {
				_, _ = fmt.Fprintf(l, "a%d", i)
				_, _ = fmt.Fprintf(l, "b%d\n", i)
			}
			l.Close()
		})
	}
	all.Wait()
	next := map[int]int{}
	for line := range strings.Lines(out.String()) {
		var rank, a, b int
		if n, err := fmt.Sscanf(line, "[%d] a%db%d\n", &rank, &a, &b); n != 3 || err != nil || a != b ||
			a != next[rank] {
			t.Fatalf("torn or out of order: %q", line)
		}
		next[rank]++
	}
	if len(next) != ranks {
		t.Errorf("%d ranks wrote", len(next))
	}
}

// FuzzLines holds the lines to what was written, however it came.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\nc\r\rd"), uint16(1))
	f.Add([]byte("ääääääää\n"), uint16(7))
	const most = 9
	f.Fuzz(func(t *testing.T, text []byte, size uint16) {
		write := func(piece int) (out, seen string) {
			var b bytes.Buffer
			var told strings.Builder
			s := NewConsole(&b, &b)
			l := newLineWriter(s, &s.out, 0, false, func(line []byte) { told.Write(line) })
			l.limit = most
			for rest := text; len(rest) > 0; {
				n := min(piece, len(rest))
				_, _ = l.Write(rest[:n])
				rest = rest[n:]
			}
			l.Close()
			return b.String(), told.String()
		}
		whole, seen := write(len(text) + 1)
		pieces, _ := write(int(size) + 1)
		if whole != pieces {
			t.Errorf("in pieces of %d it is different", size+1)
		}
		if want := strings.NewReplacer("\n", "", "\r", "").Replace(string(text)); seen != want {
			t.Errorf("wrote %q, seen %q", want, seen)
		}
		for line := range strings.Lines(whole) {
			if !strings.HasPrefix(line, "[0] ") || !strings.HasSuffix(line, "\n") || len(line) > most+len("[0] \n") {
				t.Errorf("no line of rank 0: %q", line)
			}
			if utf8.Valid(text) && !utf8.ValidString(line) {
				t.Errorf("cut inside a character: %q", line[max(0, len(line)-8):])
			}
		}
	})
}

func TestTail(t *testing.T) {
	var tl lastLines
	if diff := cmp.Diff([]string(nil), tl.lines()); diff != "" {
		t.Error(diff)
	}
	var want []string
	for i := range keptLines + 3 {
		tl.add(fmt.Appendf(nil, "line %d", i))
		if i >= 3 {
			want = append(want, fmt.Sprintf("line %d", i))
		}
	}
	if diff := cmp.Diff(want, tl.lines()); diff != "" {
		t.Error(diff)
	}
	tl.add(bytes.Repeat([]byte("x"), 10_000))
	if last := tl.lines(); len(last[len(last)-1]) != keptWidth {
		t.Errorf("kept %d bytes of one line", len(last[len(last)-1]))
	}
}
