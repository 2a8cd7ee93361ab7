package benchrun_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/benchrun"
	"github.com/railhead/railhead/internal/cli"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/schematest"
)

func railhead(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(context.Background(), "railhead", args, "test", cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return out.String(), code
}

// Doctor finds a slow NIC in an archive, in every form: in the text it comes first.
func TestDoctorMeasures(t *testing.T) {
	t.Parallel()
	file, _ := benchrun.MeasuredArchive(t)
	text, code := railhead(t, "doctor", "--from", file)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, text, "measured: 60 links between 6 pods, in ",
		"fail: NIC mlx5_11 of node gpu-3 (pod h-kim-2) rail rail-4: 200.0 Gb/s where 391.1 Gb/s is healthy, on 5 links [bench-fabric]",
		"fix (admin): This NIC is slow with all others")
	if first := strings.Index(text, "[bench-fabric]"); first > strings.Index(text+"fail: ", "warn: ") && strings.Contains(text, "warn: ") {
		t.Errorf("it does not come first:\n%s", text)
	}
	out, _ := railhead(t, "doctor", "--from", file, "-o", "json")
	schematest.Open(t, "railhead-doctor").Holds(t, file, []byte(out))
	var v struct {
		Problems []struct{ Check, Status string }
		Measured struct {
			Pods, Links int
			Skipped     []string
		}
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	if v.Measured.Pods != 6 || v.Measured.Links != 60 || v.Measured.Skipped != nil || v.Problems[0].Check != "bench-fabric" || v.Problems[0].Status != "fail" {
		t.Errorf("%+v", v)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if _, code := railhead(t, "report", file, "-o", page); code != 0 {
		t.Errorf("report ends with %d", code)
	}
}
