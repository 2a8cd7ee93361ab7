package explain

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden holds the JSON of whole stories, which is a contract.
func TestGolden(t *testing.T) {
	all := fixtures(t)
	for _, name := range []string{"healthy-roce-2.28", "no-ib-device", "gid-index-empty-slot-2.28",
		"cuda-error-first", "env-not-on-all-ranks", "unknown-nothing", "two-runs"} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			e := json.NewEncoder(&got)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			if err := e.Encode(Log(all[name].log())); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("../../testdata/logs", name+".json")
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
