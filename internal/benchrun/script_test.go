package benchrun

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
)

func FuzzReadBatch(f *testing.F) {
	f.Add("0 a line\n1 another\n0=0\n1=137\n", 2)
	f.Add("0=x\n-1 y\n5 z\n=\n \n", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > 64 {
			return
		}
		for i, s := range readBatch(text, n, "gone") {
			if s.Lost != "" && s.Lost != "gone" {
				t.Errorf("%d: %+v", i, s)
			}
		}
	})
}

func TestReadBatch(t *testing.T) {
	got := readBatch("0 a\n1 b b\n0=0\n1 =c\n1=137\nnoise\n", 3, "")
	want := []bench.Output{{Text: "a\n"}, {Text: "b b\n=c\n", Code: 137}, {Lost: "its exit code is missing"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
