package html

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestResults holds the results that `make pictures` shows a page of against the fabric that the tests invent.
func TestResults(t *testing.T) {
	fabric := withLadders(simulated(16, 8, slowNIC(5, 2, 0.5), badCable(2, 11, 6, 0.3)))
	series := simulatedSeries(120, 75, 4096)
	series.Subject += " (simulated)"
	for file, result := range map[string]any{"simulated-bench.json": fabric, "simulated-wire.json": series} {
		file = "../../../testdata/results/" + file
		got, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from what the test makes (%v); accept with -update, then run make pictures", file, err)
		}
	}
}
