package scan

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/railhead/railhead/internal/wordsearch"
)

const (
	infoLine = "gpu-0:12:34 [0] NCCL INFO Using network IB"
	warnLine = "gpu-0:12:34 [0] transport/net_ib.cc:1 NCCL WARN NET/IB : Got async event : port error"
)

// given returns the lines that Lines passes on, each with its number.
func given(in io.Reader) ([]string, Reading, error) {
	var lines []string
	reading, err := each(in, func(number int, line []byte) {
		lines = append(lines, fmt.Sprintf("%d:%s", number, line))
	})
	return lines, reading, err
}

// some words as logs have them, the last one in UTF-16.
var words = wordsearch.New([]string{"NCCL", "NET/", ".cc:1", "N\x00C\x00C\x00L"})

func each(in io.Reader, take func(number int, line []byte)) (Reading, error) {
	return Lines(in, words, func(b Batch) {
		for l := range b.All() {
			take(l.Number, l.Text)
		}
	})
}

func TestLines(t *testing.T) {
	two := "first\n" + infoLine + "\n"
	twoLines := []string{"1:first", "2:" + infoLine}
	passed := []Skipped{{Reason: "part of its beginning is not text and was not read"}}
	cut := gzipped(strings.Repeat(two, 5000))
	for name, test := range map[string]struct {
		in      string
		want    []string
		skipped []Skipped
	}{
		"empty":                           {"", nil, []Skipped{{Reason: "empty"}}},
		"plain":                           {two, twoLines, nil},
		"the last line has no end":        {"first\n" + infoLine, twoLines, nil},
		"lines of Windows":                {"first\r\n" + infoLine + "\r\n", twoLines, nil},
		"UTF-8 with a byte order mark":    {"\xef\xbb\xbf" + two, twoLines, nil},
		"UTF-16 of PowerShell":            {"\xff\xfe" + utf16Of(two, binary.LittleEndian), twoLines, nil},
		"UTF-16, big end first":           {"\xfe\xff" + utf16Of(two, binary.BigEndian), twoLines, nil},
		"UTF-16 without a mark":           {utf16Of(two, binary.LittleEndian), twoLines, nil},
		"UTF-16, big end, without a mark": {utf16Of(two, binary.BigEndian), twoLines, nil},
		"UTF-16 with pairs of surrogates": {"\xff\xfe" + utf16Of("🚂 "+infoLine+"█\n", binary.LittleEndian),
			[]string{"1:🚂 " + infoLine + "█"}, nil},
		"UTF-16 that ends within a letter": {"\xff\xfe" + utf16Of(two, binary.LittleEndian) + "x",
			[]string{"1:first", "2:" + infoLine, "3:\ufffd"}, nil},
		"UTF-16 appended to ASCII": {two + utf16Of(warnLine+"\n", binary.LittleEndian),
			[]string{"2:" + infoLine, "3:" + warnLine}, passed},
		"lines that a runtime split in NCCL's name": {"2026-03-02T10:00:00Z stdout P " + infoLine[:18] +
			"\n2026-03-02T10:00:00Z stderr F x\n2026-03-02T10:00:00Z stdout F " + infoLine[18:] + "\n",
			[]string{"2:2026-03-02T10:00:00Z x", "3:2026-03-02T10:00:00Z " + infoLine}, nil},
		"gzip":                {gzipped(two), twoLines, nil},
		"gzip of two members": {gzipped("first\n") + gzipped(infoLine+"\n"), twoLines, nil},
		"gzip of UTF-16":      {gzipped("\xff\xfe" + utf16Of(two, binary.LittleEndian)), twoLines, nil},
		"gzip of nothing":     {gzipped(""), nil, nil},
		"zstd":                {zstandard(two), twoLines, nil},
		"zstd of two frames":  {zstandard("first\n") + zstandard(infoLine+"\n"), twoLines, nil},
		"a gzip header that is cut off": {cut[:6], nil,
			[]Skipped{{Reason: "gzip: cut off after 6 bytes; the part before was read"}}},
		"gzip with other bytes behind": {gzipped(two) + "xxxxxxxxxxxxxxxx", twoLines,
			[]Skipped{{Reason: "gzip: other data follows the compressed data and was not read"}}},
		"colours": {"\x1b[36m(RayWorker pid=12)\x1b[0m \x1b[1;31m" + infoLine +
			"\x1b[K\x1b[m\n", []string{"1:(RayWorker pid=12) " + infoLine}, nil},
		"the colours of grep": {"gpu-0:12:34 [0] \x1b[01;31m\x1b[KNCCL\x1b[m\x1b[K INFO Using " +
			"network IB\n", []string{"1:" + infoLine}, nil},
		"a title for the window":  {"\x1b]0;train\a" + infoLine + "\n", []string{"1:" + infoLine}, nil},
		"a progress bar in front": {"10%|#\r20%|##\r" + infoLine + "\n", []string{"1:" + infoLine}, nil},
		"a progress bar around":   {"10%|#\r" + infoLine + "\r20%|##\n", []string{"1:" + infoLine}, nil},
		"a progress bar alone":    {"10%|#\r20%|##\r\n", []string{"1:20%|##"}, nil},
		"two lines that a bar's returns cut": {"\r" + infoLine + "\r10%\r" + warnLine + "\r\nx\n",
			[]string{"1:" + infoLine, "1:" + warnLine, "2:x"}, nil},
		"two processes in one line": {"gpu-0:12:34 [0] NCCL IN" + infoLine + "\nFO x\n",
			[]string{"1:gpu-0:12:34 [0] NCCL IN" + infoLine, "2:FO x"}, nil},
		"a hole where a log was truncated": {strings.Repeat("\x00", 1<<20) + two,
			[]string{"1:first", "2:" + infoLine}, passed},
		"NUL bytes in a line": {"first\n" + infoLine[:20] + "\x00\x00" + infoLine[20:] + "\n",
			twoLines, nil},
		"a library that has NCCL's words": {"\x7fELF\x02\x01" + strings.Repeat(warnLine+"\n", 3), nil,
			[]Skipped{{Reason: "a program or library"}}},
		"a checkpoint": {"PK\x03\x04" + strings.Repeat("\x00\x01", 50), nil,
			[]Skipped{{Reason: "a zip archive, such as a PyTorch checkpoint; unpack it if it contains logs"}}},
		"a checkpoint in gzip": {gzipped("PK\x03\x04" + strings.Repeat("\x00\x01", 50)), nil,
			[]Skipped{{Reason: "a zip archive, such as a PyTorch checkpoint; unpack it if it contains logs"}}},
		"binary":            {noise(5000), nil, []Skipped{{Reason: "not text"}}},
		"binary and no end": {noise(4 << 20), nil, []Skipped{{Reason: "not text"}}},
		"a tar archive": {tarHead() + two, nil,
			[]Skipped{{Reason: "a tar archive; unpack it first"}}},
	} {
		t.Run(name, func(t *testing.T) {
			for way, in := range map[string]io.Reader{
				"at once": strings.NewReader(test.in), "a pipe": iotest.HalfReader(strings.NewReader(test.in)),
				"with the end": iotest.DataErrReader(strings.NewReader(test.in)),
			} {
				lines, reading, err := given(in)
				if err != nil {
					t.Errorf("%s: error %v", way, err)
				}
				if diff := cmp.Diff(test.want, lines); diff != "" {
					t.Errorf("%s: lines (-want +got):\n%s", way, diff)
				}
				if diff := cmp.Diff(test.skipped, reading.Skipped); diff != "" {
					t.Errorf("%s: skipped (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}

func TestLinesOfTruncatedFiles(t *testing.T) {
	text := numbered(20000)
	for name, in := range map[string]string{"gzip": gzipped(text), "zstd": zstandard(text)} {
		t.Run(name, func(t *testing.T) {
			lines, reading, err := given(strings.NewReader(in[:len(in)*2/3]))
			if err != nil {
				t.Fatal(err)
			}
			if len(lines) < 1000 || lines[999] != fmt.Sprintf("1000:%s 1000", infoLine) {
				t.Errorf("%d lines: what came before the end was not read", len(lines))
			}
			want := []Skipped{{Reason: fmt.Sprintf("%s: cut off after %d bytes; the part before was read", name,
				len(in)*2/3)}}
			if diff := cmp.Diff(want, reading.Skipped); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinesOfBrokenGzip(t *testing.T) {
	in := []byte(gzipped(numbered(20000)))
	in[len(in)*2/3] ^= 0x55
	lines, reading, err := given(bytes.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 1000 || len(reading.Skipped) != 1 || !strings.Contains(reading.Skipped[0].Reason,
		"cannot be decoded") {
		t.Errorf("%d lines, skipped %v", len(lines), reading.Skipped)
	}
}

// TestLinesWithoutFacts asserts that the lines of a long log that hold no fact are not passed on.
func TestLinesWithoutFacts(t *testing.T) {
	training := strings.Repeat("step loss 2.13\n", FirstLines)
	in := training + "step\n" + infoLine + "\nstep a\n" + warnLine + "\nstep 1\nstep 2\nstep 3\nstep 4\n" + training
	lines, reading, err := given(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"202:" + infoLine, "204:" + warnLine, "205:step 1", "206:step 2", "207:step 3"}
	if diff := cmp.Diff(want, lines[FirstLines:]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if reading.Lines != 2*FirstLines+8 {
		t.Errorf("%d lines", reading.Lines)
	}
}

// TestLinesInAllPositions reads lines of many lengths, so that blocks end at all places of a line.
func TestLinesInAllPositions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for text.Len() < 5*blockSize {
		switch random.IntN(3) {
		case 0:
			text.WriteString(infoLine)
		case 1:
			text.WriteString(strings.Repeat("x", random.IntN(3000)))
		}
		text.WriteString("\n")
	}
	want := naive(text.String())
	for name, in := range map[string]io.Reader{
		"at once":     strings.NewReader(text.String()),
		"in pieces":   pieces{strings.NewReader(text.String()), random},
		"with errors": iotest.DataErrReader(strings.NewReader(text.String())),
	} {
		lines, reading, err := given(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("%s (-want +got):\n%.2000s", name, diff)
		}
		if n := strings.Count(text.String(), "\n"); reading.Lines != n {
			t.Errorf("%s: %d lines, want %d", name, reading.Lines, n)
		}
	}
}

// TestEndlessLine reads 100 MB without a line end, with messages of NCCL in it.
func TestEndlessLine(t *testing.T) {
	const size = 100 << 20
	places := []int{10, blockSize - 5, 50 << 20, 50<<20 + aroundAfter + 100, size - 50}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var got []string
	reading, err := each(&endless{size: size, at: places}, func(number int, line []byte) {
		if len(line) > maxLine {
			t.Errorf("a line of %d bytes", len(line))
		}
		got = append(got, fmt.Sprintf("%d:%d", number, bytes.Count(line, []byte("NCCL INFO"))))
	})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1:1", "1:1", "1:1", "1:1", "1:1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []Skipped{{1, "the line is longer than 65536 bytes; only the parts around NCCL's messages were read"}}
	if diff := cmp.Diff(want, reading.Skipped); diff != "" || reading.Lines != 1 {
		t.Errorf("%d lines, skipped (-want +got):\n%s", reading.Lines, diff)
	}
	if n := len(reading.Tail); n < tailOfFile || n > 2*tailOfFile {
		t.Errorf("a tail of %d bytes", n)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes of memory for %d of text", used, size)
	}
}

// TestLongLines asserts that a line of up to 64 KiB is passed on whole and a part of a longer one, and that neither
// changes the lines around it.
func TestLongLines(t *testing.T) {
	fits, long := strings.Repeat("x", maxLine-len(infoLine)), strings.Repeat("y", blockSize/2)
	lines, reading, err := given(strings.NewReader(fits + infoLine + "\n" + long + infoLine + long + "\n" + long +
		warnLine + "\n" + infoLine + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1:" + fits + infoLine,
		"2:" + long[:aroundBefore-strings.Index(infoLine, "NCCL")] + infoLine +
			long[:aroundAfter-len(infoLine)+strings.Index(infoLine, "NCCL")],
		"3:" + long[:aroundBefore-strings.Index(warnLine, ".cc:1")] + warnLine,
		"4:" + infoLine,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%.3000s", diff)
	}
	skipped := []Skipped{{2, "2 lines are longer than 65536 bytes; only the parts around NCCL's messages were read"}}
	if diff := cmp.Diff(skipped, reading.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLongLinesAreCounted counts two lines, of which the first ends in the block in which the second begins.
func TestLongLinesAreCounted(t *testing.T) {
	first, second := strings.Repeat("x", blockSize-3*maxLine), strings.Repeat("y", blockSize)
	_, reading, err := given(strings.NewReader(infoLine + "\n" + first + infoLine + first[:maxLine] + "\n" + second +
		warnLine + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Skipped{{2, "2 lines are longer than 65536 bytes; only the parts around NCCL's messages were read"}}
	if diff := cmp.Diff(want, reading.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrorOfTheInput(t *testing.T) {
	broken := errors.New("input/output error")
	for name, text := range map[string]string{"plain": infoLine + "\n" + infoLine,
		"gzip": gzipped(infoLine + "\n" + infoLine)} {
		lines, _, err := given(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("%s: error %v", name, err)
		}
		if name == "plain" && len(lines) != 2 {
			t.Errorf("%s: lines %q: what came before the error was not given", name, lines)
		}
	}
	if _, _, err := given(idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: error %v", err)
	}
}

// TestLinesAreNotHeldBack asserts that lines are passed on while the job runs.
func TestLinesAreNotHeldBack(t *testing.T) {
	r, w := io.Pipe()
	came := make(chan string)
	go func() {
		_, err := each(r, func(_ int, line []byte) { came <- string(line) })
		came <- fmt.Sprint(err)
	}()
	for _, line := range []string{infoLine, "step", warnLine} {
		fmt.Fprintln(w, line)
		if got := <-came; got != line {
			t.Fatalf("got %q, want %q", got, line)
		}
	}
	w.Close()
	if got := <-came; got != "<nil>" {
		t.Errorf("at the end: %q", got)
	}
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		infoLine + "\n", "\xff\xfeN\x00", gzipped(infoLine), zstandard(infoLine), "\r" + infoLine + "\r\n\x1b[m",
		"\x00\x00" + infoLine, noise(100), "2026-03-02T10:00:00Z stdout P a\n2026-03-02T10:00:00Z stdout F b",
	} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		last := 0
		var lines []string
		reading, err := each(&chunks{bytes.NewReader(data), 1 + size&0xff}, func(number int, line []byte) {
			if number < last || bytes.IndexByte(line, '\n') >= 0 || bytes.IndexByte(line, 0) >= 0 ||
				len(line) > maxLine {
				t.Errorf("line %d after %d: %q", number, last, line)
			}
			last = number
			lines = append(lines, fmt.Sprintf("%d:%s", number, line))
		})
		if err != nil {
			t.Errorf("error %v", err)
		}
		if last > reading.Lines {
			t.Errorf("%+v of %d bytes, last line %d", reading, len(data), last)
		}
		if plain := bytes.Trim(data, asciiText); len(plain) == 0 && bytes.ContainsAny(data, "\n") &&
			!bytes.Contains(data, []byte(" std")) { // the files of container runtimes
			if diff := cmp.Diff(naive(string(data)), lines); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

const asciiText = "\n !#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// naive returns the same lines by a simple algorithm, for text without carriage returns, escape sequences and long
// lines.
func naive(text string) []string {
	var lines []string
	until := FirstLines
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		hit := words.Find([]byte(line), 0) >= 0
		if hit && i >= until-LinesAfter && !strings.Contains(line, "NCCL INFO ") {
			until = i + 1 + LinesAfter
		}
		if line != "" && (hit || i < until) {
			lines = append(lines, fmt.Sprintf("%d:%s", i+1, line))
		}
	}
	return lines
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", infoLine, i+1)
	}
	return b.String()
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func zstandard(text string) string {
	var b bytes.Buffer
	w, _ := zstd.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func utf16Of(text string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func noise(n int) string {
	random := rand.New(rand.NewPCG(5, 6))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	b[0] = 1
	return string(b)
}

func tarHead() string {
	head := make([]byte, 512)
	copy(head, "logs/rank0.log")
	copy(head[257:], "ustar\x0000")
	return string(head)
}

// endless is a text of letters with messages of NCCL at some places.
type endless struct {
	size, read int
	at         []int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read == e.size {
		return 0, io.EOF
	}
	p = p[:min(len(p), e.size-e.read)]
	for i := range p {
		p[i] = 'z'
	}
	for _, at := range e.at {
		for i := range len(infoLine) {
			if j := at + i - e.read; j >= 0 && j < len(p) {
				p[j] = infoLine[i]
			}
		}
	}
	e.read += len(p)
	return len(p), nil
}

// pieces is a reader that returns random amounts.
type pieces struct {
	in     io.Reader
	random *rand.Rand
}

func (p pieces) Read(to []byte) (int, error) {
	return p.in.Read(to[:1+p.random.IntN(min(len(to), 9000))])
}

type chunks struct {
	in   io.Reader
	size int
}

func (c *chunks) Read(p []byte) (int, error) { return c.in.Read(p[:min(len(p), c.size)]) }

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }
