package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/wire"
)

// TestDashboard: the dashboard shows every metric, and none that does not exist.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../../docs/wire-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`railhead_wire_[a-z_]+`).FindAllString(target.Expr, -1) {
				shown[strings.TrimPrefix(name, "railhead_wire_")] = true
				isCounter := strings.HasSuffix(name, "_total")
				if isCounter != strings.Contains(target.Expr, "rate("+name) {
					t.Errorf("%s: %s", p.Title, target.Expr)
				}
			}
		}
	}
	var totals Totals
	totals.Add(reading(0, 5), nil, time.Millisecond)
	totals.Add(reading(2, 6), []wire.Usage{usage("python", 90, 4096)}, time.Millisecond)
	exist := map[string]bool{}
	for metric := range parse(t, totals.Text()) {
		name, _, _ := strings.Cut(metric, "{")
		exist[name] = true
	}
	for name := range exist {
		if !shown[name] {
			t.Errorf("%s is not shown", name)
		}
	}
	for name := range shown {
		if !exist[name] {
			t.Errorf("%s does not exist", name)
		}
	}
}
