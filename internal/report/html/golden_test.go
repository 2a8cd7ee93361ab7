package html

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

var update = flag.Bool("update", false, "write the golden file")

// body returns the page without style and scripts, as a reader without JavaScript sees it.
func body(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(b.String(), "</style>\n</head>\n")
	text, _, found := strings.Cut(text, "<script ")
	if !found {
		t.Fatal("the page has no body that scripts follow")
	}
	return text
}

func TestGolden(t *testing.T) {
	const file = "testdata/page.html"
	r := withLadders(simulated(3, 2, slowNIC(1, 0, 0.3)))
	r.Findings = []check.Finding{{
		Check:    "bench-fabric",
		Status:   check.Fail,
		Subject:  check.Named(check.Measured, "NIC mlx5_2 of node gpu-2"),
		Summary:  "115.7 Gb/s where 385.4 Gb/s is healthy, on 2 links",
		Evidence: []check.Evidence{{Source: "median of 2 links", Got: "115.7 Gb/s", Want: "385.4 Gb/s"}},
		Fix: &check.Fix{
			Text:     "Look at its cable, its slot and its switch port.",
			Commands: []string{"mlxlink -d mlx5_2 -m"},
			Who:      check.Admin,
		},
	}}
	got := body(t, Join(FromBench(r, "bench.json"), rolloutPage()))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got (accept with -update):\n%s", diff)
	}
}

// A page has no URLs: each would be a request, or a link that does not work in an air-gapped network.
func TestNoURL(t *testing.T) {
	text := body(t, FromBench(simulated(3, 2), "bench.json"))
	for _, scheme := range []string{"http:", "https:", "//"} {
		if strings.Contains(text, scheme) {
			t.Errorf("the page has %s", scheme)
		}
	}
}

// FuzzBench reads files with any numbers and indices.
func FuzzBench(f *testing.F) {
	for _, r := range []bench.Result{{}, withLadders(simulated(3, 2, slowNIC(1, 0, 0.3)))} {
		text, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"pods":[{"name":"a"}],"matrix":{"pods":[],"rails":[],"values":[]},
		"attribution":{"culprits":[{"kind":"leaf","rail":7,"pods":[0,-1]}]}}`))
	f.Add([]byte(`{"ladders":[{"from":{"pod":-1,"rail":9},"to":{"pod":3},"steps":[{"name":"x","gbps":1}],"gap":{}}],
		"crossRails":[{"from":{"pod":9}}],"loopbacks":[{"at":{"pod":-3}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r bench.Result
		if json.Unmarshal(text, &r) != nil {
			return
		}
		if _, err := json.Marshal(FromBench(r, "fuzz")); err != nil { // such as NaN
			t.Error(err)
		}
	})
}
