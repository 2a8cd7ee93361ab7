package html

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// levels unpacks as a browser does.
func levels(t *testing.T, packed string) []byte {
	t.Helper()
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader([]byte(packed))))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLevels(t *testing.T) {
	var l Links
	l.quantise([]float32{-1, 0, 196.05, 392.1})
	want := []byte{0, 0, 1, 0, 0, 0x80, 0xff, 0xff}
	if diff := cmp.Diff(want, levels(t, l.packed)); diff != "" || l.Bytes != 2 {
		t.Errorf("%d bytes each: %s", l.Bytes, diff)
	}
}

// Many values are rounded to a part of the largest; values that are absent stay absent.
func TestManyLevels(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]float32, 1_200_000)
	for i := range values {
		values[i] = 392 * random.Float32() // compresses badly
	}
	values[7], values[8], values[9] = -1, 0, 392
	var l Links
	l.quantise(values)
	got := levels(t, l.packed)
	if l.Bytes != 1 || len(got) != len(values) || got[7] != 0 || got[8] != 1 {
		t.Fatalf("%d levels of %d bytes, beginning %v", len(got), l.Bytes, got[:10])
	}
	for i, level := range got {
		if values[i] >= 0 && math.Abs(float64(values[i])-float64(level-1)*l.Step) > l.Step {
			t.Fatalf("%g is kept as %g", values[i], float64(level-1)*l.Step)
		}
	}
}

// Random rates of 1,024 pods with 8 rails fit into a page of 5 MB with 500 kB of library.
func TestWorstCaseFits(t *testing.T) {
	if testing.Short() {
		t.Skip("packs 4.2 million random numbers")
	}
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]float32, 8*1024*1023/2)
	for i := range values {
		values[i] = 392 * random.Float32()
	}
	var l Links
	if l.quantise(values); len(l.packed) > mostPacked {
		t.Errorf("%d bytes, want at most %d", len(l.packed), mostPacked)
	}
}

func TestEnds(t *testing.T) {
	m := bench.NewMatrix(
		[]bench.MatrixPod{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		[]bench.MatrixRail{{Name: "r0", Ceiling: 100}, {Name: "r1", Ceiling: 100}},
	)
	m.Set(0, 1, 0, 98)
	m.Set(0, 2, 0, 40)
	m.Set(1, 2, 0, 42)
	m.Set(0, 1, 1, 97)
	want := []float64{98, 97, 98, 97, 42, -1}
	if diff := cmp.Diff(want, ends(m)); diff != "" {
		t.Error(diff)
	}
}

func TestSlowest(t *testing.T) {
	m := bench.NewMatrix(
		[]bench.MatrixPod{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		[]bench.MatrixRail{{Name: "r0", Ceiling: 100}, {Name: "r1", Ceiling: 400}},
	)
	m.Set(0, 1, 0, 98)
	m.Set(0, 2, 0, 40)
	m.Set(1, 2, 0, 42)
	m.Set(0, 1, 1, 97)
	got, measured := slowest(m, 3)
	want := []link{
		{bench.MatrixLink{A: 0, B: 1, Rail: 1, Rate: 97}, 0.2425},
		{bench.MatrixLink{A: 0, B: 2, Rate: 40}, 0.4},
		{bench.MatrixLink{A: 1, B: 2, Rate: 42}, 0.42},
	}
	if !slices.Equal(got, want) || measured != 4 {
		t.Errorf("%v of %d, want %v", got, measured, want)
	}
}

func TestJudged(t *testing.T) {
	for name, test := range map[string]struct {
		gate     bench.Gate
		measured bench.Gbps
		want     check.Status
	}{
		"at the ceiling":               {bench.Gate{Efficiency: 0.9}, 390, check.Pass},
		"below the efficiency":         {bench.Gate{Efficiency: 0.9}, 350, check.Fail},
		"above a rate that was chosen": {bench.Gate{Efficiency: 0.9, Gbps: 300}, 350, check.Pass},
	} {
		if got := judged(test.gate, test.measured, 392, 1); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
