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

// Input reads a log as text: gzip, zstd and UTF-16 are decoded.
type Input struct {
	raw     counter
	text    io.Reader
	begun   bool
	formats []string
	notes   []string
	close   func()
	doubt   bool // NUL bytes or control characters stood at its beginning
	doubted bool
	looked  int // so much was, as long as there is doubt
	refused bool
}

// NewInput returns the text of a log.
func NewInput(in io.Reader) *Input {
	i := &Input{raw: counter{in: in}, close: func() {}}
	i.text = &i.raw
	return i
}

// counter counts bytes, and knows the input's own error from that of a decoder.
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

// maxDoubt limits the bytes that are examined before an input that does not look like text is given up.
const maxDoubt = 1 << 20

// patience limits the number of empty reads.
const patience = 100

// Read implements io.Reader. Where nothing more can be decoded it returns io.EOF; other errors are those of the input.
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
			return n, i.broken(err)
		case n > 0:
			return n, nil
		}
	}
	return 0, io.ErrNoProgress
}

// broken returns the error of the input, or io.EOF where the decoder failed.
func (i *Input) broken(err error) error {
	if i.raw.err != nil {
		return i.raw.err
	}
	reason := fmt.Sprintf("%s: what follows byte %d cannot be decoded (%v)", i.Format(), i.raw.bytes, err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		reason = fmt.Sprintf("%s: it is cut off after %d bytes; what came was read", i.Format(), i.raw.bytes)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zstd.ErrMagicMismatch):
		reason = fmt.Sprintf("%s: after the end of the compressed data there are other bytes", i.Format())
	}
	i.notes = append(i.notes, reason)
	return io.EOF
}

// look judges whether it is text, as long as there is doubt, and returns how much of it is to be searched.
func (i *Input) look(p []byte) int {
	if i.looked < 0 {
		return len(p)
	}
	text := bytes.TrimLeft(p, "\x00") // the hole of a log that was truncated while it was written
	if len(text) < len(p) {
		i.doubted = true
	}
	switch {
	case len(text) == 0:
	case !isBinary(text):
		i.doubt, i.looked = false, -1 // from here on it is text
	default:
		i.doubt, i.doubted = true, true
		if i.looked += len(text); i.looked > maxDoubt {
			i.refused = true
		}
	}
	return copy(p, text)
}

// Doubtful reports whether the input began with bytes that are not text.
func (i *Input) Doubtful() bool { return i.doubt }

// Bytes returns how much was read, before decoding.
func (i *Input) Bytes() int64 { return i.raw.bytes }

// Format names the encodings that were decoded: "gzip", "zstd, UTF-16"; "" for plain text.
func (i *Input) Format() string { return strings.Join(i.formats, ", ") }

// Skipped returns why parts of the input were not read. Given: some of its lines were.
func (i *Input) Skipped(given bool) []string {
	i.close()
	notes := i.notes
	switch {
	case i.raw.bytes == 0 && i.raw.err == nil:
		notes = append(notes, "it is empty")
	case i.refused && given:
		notes = append(notes, "it is not text: of its beginning the lines of text were read, the "+
			"rest was not")
	case i.refused, i.doubted && !given:
		notes = append(notes, "it is not text")
	case i.doubted:
		notes = append(notes, "some of its beginning is not text: that was passed over")
	}
	return notes
}

// foreign are formats that are not logs, by how they begin.
var foreign = []struct{ magic, what string }{
	{"\x7fELF", "a program or a library"},
	{"PK\x03\x04", "a zip archive, as PyTorch's checkpoints are: unpack it if logs are in it"},
	{"\x89PNG", "a picture"},
	{"%PDF-", "a PDF document"},
	{"BZh", "compressed by bzip2: unpack it first"},
	{"\xfd7zXZ\x00", "compressed by xz: unpack it first"},
	{"\x04\x22\x4d\x18", "compressed by lz4: unpack it first"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"},
	{"\x93NUMPY", "an array of NumPy"},
	{"SQLite format 3\x00", "a database, as those of Nsight Systems are"},
}

// begin finds out what the input is, and puts decoders in front of it.
func (i *Input) begin() {
	const layers = 4 // a log in UTF-16 that was compressed has two
	for range layers {
		head := i.head()
		if what := foreignTo(head); what != "" {
			i.notes = append(i.notes, "it is "+what)
			i.text = bytes.NewReader(nil)
			return
		}
		if !i.decode(head) {
			return
		}
	}
}

// head returns how the text begins. A pipe gives what it has: nobody should wait for more.
func (i *Input) head() []byte {
	head := make([]byte, 4096)
	n := 0
	var err error
	for idle := 0; n < 8 && err == nil && idle < patience; idle++ {
		var m int
		m, err = i.text.Read(head[n:])
		if n += m; m > 0 && bytes.IndexByte(head[n-m:n], '\n') >= 0 {
			break
		}
	}
	head = head[:n]
	i.text = &headed{head, err, i.text}
	return head
}

// headed is a reader whose first bytes have been read, and perhaps its error.
type headed struct {
	head []byte
	err  error
	rest io.Reader
}

func (h *headed) Read(p []byte) (int, error) {
	if len(h.head) > 0 {
		n := copy(p, h.head)
		h.head = h.head[n:]
		return n, nil
	}
	if h.err != nil {
		return 0, h.err
	}
	return h.rest.Read(p)
}

func foreignTo(head []byte) string {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.what
		}
	}
	const tarMagic = 257 // POSIX ustar
	if len(head) > tarMagic+5 && string(head[tarMagic:tarMagic+5]) == "ustar" {
		return "a tar archive: unpack it first"
	}
	return ""
}

// decode puts a decoder in front of the text, if it needs one.
func (i *Input) decode(head []byte) bool {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		i.formats = append(i.formats, "gzip")
		i.text = &lazy{open: func(in io.Reader) (io.Reader, error) { return gzip.NewReader(in) }, in: i.text}
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		i.formats = append(i.formats, "zstd")
		i.text = &lazy{open: i.zstd, in: i.text}
	default:
		order, bom := utf16Order(head)
		if order == nil {
			if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
				i.text = &without{3, i.text}
			}
			return false
		}
		i.formats = append(i.formats, "UTF-16")
		i.text = &utf16Reader{in: &without{bom, i.text}, order: order}
	}
	return true
}

// zstd limits the memory that the file may ask for: zstd's own program refuses more than this, too, unless it is told
// to.
func (i *Input) zstd(in io.Reader) (io.Reader, error) {
	const window = 128 << 20
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window))
	if err == nil {
		i.close = d.Close
	}
	return d, err
}

// lazy opens a decoder when it is read from, as opening reads.
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

// without is a reader without its first bytes.
type without struct {
	skip int
	in   io.Reader
}

func (w *without) Read(p []byte) (int, error) {
	for w.skip > 0 {
		var drop [4]byte
		n, err := w.in.Read(drop[:w.skip])
		if w.skip -= n; err != nil {
			return 0, err
		}
	}
	return w.in.Read(p)
}
