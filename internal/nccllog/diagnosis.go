package nccllog

import (
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/find"
)

// Diagnosis sums up the report of NCCL's diagnostics (NCCL_RUN_DIAGNOSTICS, NCCL_RUN_RAS_DIAGNOSTICS).
type Diagnosis struct {
	Passed, Noted int      // lines with [OK] and with [INFO]
	Bandwidth     float64  // the median of the network, in Gbit/s; 0: not measured
	Slowest       float64  // of all pairs, in Gbit/s
	NotMeasured   []string // why, in NCCL's words
}

// Ran reports whether the diagnostics ran.
func (d Diagnosis) Ran() bool { return d.Passed+d.Noted > 0 }

// read reads a line: "[OK] net bw: 380.1/391.5/392.0 Gbit/s min/median/max same-nic bw (across 16 ranks) in comm 0x7".
func (d *Diagnosis) read(text string) {
	const most = 8
	text = strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(text, "[OK]"):
		d.Passed++
	case strings.HasPrefix(text, "[INFO]"):
		d.Noted++
	default:
		return
	}
	_, said, ok := strings.Cut(text, "net bw: ")
	if !ok {
		return
	}
	all, _, measured := strings.Cut(said, " Gbit/s min/median/max")
	values := strings.Split(all, "/")
	switch {
	case measured && len(values) == 3:
		low, lowErr := strconv.ParseFloat(values[0], 64)
		median, err := strconv.ParseFloat(values[1], 64)
		if lowErr == nil && err == nil && (d.Bandwidth == 0 || median < d.Bandwidth) {
			d.Slowest, d.Bandwidth = low, median
		}
	case !measured && !strings.Contains(said, "off median") && len(d.NotMeasured) < most:
		d.NotMeasured = append(d.NotMeasured, find.Cut(said, 160))
	}
}
