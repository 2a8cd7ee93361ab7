package guest_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/railhead/railhead/lab/machines/guest"
)

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	for kind, content := range map[byte]string{guest.Stdout: "hello\n", guest.Stderr: ""} {
		b.Reset()
		if err := guest.WriteFrame(&b, kind, []byte(content)); err != nil {
			t.Fatal(err)
		}
		whole := b.Bytes()
		gotKind, got, err := guest.ReadFrame(bytes.NewReader(whole))
		if gotKind != kind || string(got) != content || err != nil {
			t.Errorf("frame %d %q came back as %d %q, %v", kind, content, gotKind, got, err)
		}
		for n := range whole {
			want := io.ErrUnexpectedEOF
			if n == 0 {
				want = io.EOF
			}
			if _, _, err := guest.ReadFrame(bytes.NewReader(whole[:n])); !errors.Is(err, want) {
				t.Errorf("frame of %d bytes cut off after %d: %v, want %v", len(whole), n, err, want)
			}
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 'h', 'i'})
	f.Add([]byte{3, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, text []byte) {
		kind, content, err := guest.ReadFrame(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := guest.WriteFrame(&b, kind, content); err != nil || !bytes.HasPrefix(text, b.Bytes()) {
			t.Errorf("%x was read as %x, %v", text, b.Bytes(), err)
		}
	})
}
