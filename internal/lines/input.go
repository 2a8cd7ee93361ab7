package lines

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Input reads a log as text. It decodes gzip, zstd, UTF-16, and the log files of container runtimes.
type Input struct {
	raw     counter
	text    io.Reader
	begun   bool
	formats []string // decoded, the outer one first
	notes   []string
	close   func()
	doubt   bool // the input began with bytes that are not text
	doubted bool // part of its beginning was not text
	looked  int  // bytes examined in doubt; -1: the rest is text
	refused bool
}

// NewInput returns the text of a log.
func NewInput(in io.Reader) *Input {
	i := &Input{raw: counter{in: in}, close: func() {}}
	i.text = &i.raw
	return i
}

// counter counts bytes, and distinguishes the input's own error from a decoder's error.
type counter struct {
	in    io.Reader
	bytes int64
	err   error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.bytes += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

const (
	maxDoubt = 1 << 20 // bytes that are examined before an input that does not look like text is refused
	patience = 100     // empty reads
)

// Read implements io.Reader. If nothing more can be decoded, it returns io.EOF; any other error is an error of the
// input.
func (i *Input) Read(p []byte) (int, error) {
	if !i.begun {
		i.begun = true
		i.begin()
	}
	for idle := 0; idle < patience; {
		n, err := i.text.Read(p)
		if n == 0 {
			idle++
		} else {
			n = i.look(p[:n])
		}
		switch {
		case i.refused:
			return 0, io.EOF
		case err == io.EOF:
			return n, io.EOF
		case err != nil:
			return n, i.decoderError(err)
		case n > 0:
			return n, nil
		}
	}
	return 0, io.ErrNoProgress
}

// decoderError returns the input's error, if it has one. Otherwise it notes the decoder's error and returns io.EOF.
func (i *Input) decoderError(err error) error {
	if i.raw.err != nil {
		return i.raw.err
	}
	reason := fmt.Sprintf("cannot be decoded after byte %d: %v", i.raw.bytes, err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		reason = fmt.Sprintf("cut off after %d bytes; the part before was read", i.raw.bytes)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zstd.ErrMagicMismatch):
		reason = "other data follows the compressed data and was not read"
	}
	i.notes = append(i.notes, strings.Join(i.formats, ", ")+": "+reason)
	return io.EOF
}

// look judges whether the bytes are text, until there is no doubt, and returns how many of them to search.
func (i *Input) look(p []byte) int {
	if i.looked < 0 {
		return len(p)
	}
	text := bytes.TrimLeft(p, "\x00") // the hole of a log that was truncated while it was written
	i.doubted = i.doubted || len(text) < len(p)
	switch {
	case len(text) == 0:
	case !isBinary(text):
		i.doubt, i.looked = false, -1
	default:
		i.doubt, i.doubted = true, true
		i.looked += len(text)
		i.refused = i.looked > maxDoubt
	}
	return copy(p, text)
}

// Doubtful reports whether the input began with bytes that are not text.
func (i *Input) Doubtful() bool { return i.doubt }

// Bytes returns how much was read, before decoding.
func (i *Input) Bytes() int64 { return i.raw.bytes }

// Skipped returns why parts of the input were not read. Used: the reader found lines in it.
func (i *Input) Skipped(used bool) []string {
	i.close()
	notes := i.notes
	switch {
	case i.raw.bytes == 0 && i.raw.err == nil:
		notes = append(notes, "empty")
	case i.refused && used:
		notes = append(notes, "not text; only the lines of text at its beginning were read")
	case i.refused, i.doubted && !used:
		notes = append(notes, "not text")
	case i.doubted:
		notes = append(notes, "part of its beginning is not text and was not read")
	}
	return notes
}

// foreign are formats that are not logs, by their first bytes.
var foreign = []struct{ magic, name string }{
	{"\x7fELF", "a program or library"},
	{"PK\x03\x04", "a zip archive, such as a PyTorch checkpoint; unpack it if it contains logs"},
	{"\x89PNG", "a picture"},
	{"%PDF-", "a PDF document"},
	{"BZh", "compressed with bzip2; unpack it first"},
	{"\xfd7zXZ\x00", "compressed with xz; unpack it first"},
	{"\x04\x22\x4d\x18", "compressed with lz4; unpack it first"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"},
	{"\x93NUMPY", "a NumPy array"},
	{"SQLite format 3\x00", "a database, such as those of Nsight Systems"},
}

func foreignFormat(head []byte) string {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.name
		}
	}
	const tarMagic = 257 // POSIX ustar
	if len(head) > tarMagic && bytes.HasPrefix(head[tarMagic:], []byte("ustar")) {
		return "a tar archive; unpack it first"
	}
	return ""
}

// begin recognizes the format of the input, and puts decoders in front of it.
func (i *Input) begin() {
	const layers = 4 // compressed UTF-16 has two
	for range layers {
		head := i.head()
		if name := foreignFormat(head); name != "" {
			i.notes = append(i.notes, name)
			i.text = bytes.NewReader(nil)
			return
		}
		if !i.decode(head) {
			return
		}
	}
}

// head returns the first bytes of the text. It does not wait for more than a line: the input may be a pipe.
func (i *Input) head() []byte {
	head := make([]byte, 4096)
	n := 0
	var err error
	for idle := 0; n < 8 && err == nil && idle < patience; idle++ {
		var m int
		m, err = i.text.Read(head[n:])
		if n += m; bytes.IndexByte(head[n-m:n], '\n') >= 0 {
			break
		}
	}
	rest := i.text
	if err != nil {
		rest = failing{err}
	}
	i.text = io.MultiReader(bytes.NewReader(head[:n]), rest)
	return head[:n]
}

// failing is a reader that returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// decode puts a decoder in front of the text. It returns false if the text needs none.
func (i *Input) decode(head []byte) bool {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		i.formats = append(i.formats, "gzip")
		i.text = &lazy{open: func(in io.Reader) (io.Reader, error) { return gzip.NewReader(in) }, in: i.text}
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		i.formats = append(i.formats, "zstd")
		i.text = &lazy{open: i.zstd, in: i.text}
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		i.discard(3)
		return false
	case containerFormat(head) != nil:
		i.text = &containerReader{in: i.text, parse: containerFormat(head), begun: map[string][]byte{}}
		return false
	default:
		order, mark, ok := utf16Order(head)
		if !ok {
			return false
		}
		i.discard(mark)
		i.formats = append(i.formats, "UTF-16")
		i.text = utf8Of(i.text, order)
	}
	return true
}

// discard skips bytes of the head.
func (i *Input) discard(n int64) { _, _ = io.CopyN(io.Discard, i.text, n) }

// zstd opens a decoder with the memory limit of the zstd program's default.
func (i *Input) zstd(in io.Reader) (io.Reader, error) {
	const window = 128 << 20
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window))
	if err == nil {
		i.close = d.Close
	}
	return d, err
}

// lazy opens a decoder at the first read, because opening reads.
type lazy struct {
	open func(io.Reader) (io.Reader, error)
	in   io.Reader
	out  io.Reader
	err  error
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.out == nil && l.err == nil {
		l.out, l.err = l.open(l.in)
		if errors.Is(l.err, io.EOF) {
			l.err = io.ErrUnexpectedEOF
		}
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.out.Read(p)
}
