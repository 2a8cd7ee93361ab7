package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/words"
)

// DiagnosticsVariable makes railhead-pod ask NCCL for its diagnostics.
const DiagnosticsVariable = "RAILHEAD_NCCL_DIAGNOSTICS"

// examined reports whether NCCL was asked for its diagnostics.
func examined(l *Session) bool { return l.setting(DiagnosticsVariable, "") == "true" }

// diagnosis sums up the report of NCCL's diagnostics, or says why there is none.
func diagnosis(l *Session) string {
	log := l.Evidence.Log()
	if len(log.Runs) == 0 {
		return noReport("unknown")
	}
	d, run := log.Runs[len(log.Runs)-1].Diagnosis, explain.Log(log).Last()
	if !d.Ran() {
		return noReport(run.NCCLVersion)
	}
	text := words.Count(d.Passed, "check") + " passed, " + words.Count(d.Noted, "note")
	switch {
	case d.Bandwidth > 0:
		text += fmt.Sprintf("; the network between neighbours has %.0f Gbit/s (median), %.0f Gbit/s at least%s",
			d.Bandwidth, d.Slowest, beside(d.Slowest, portRate(l)))
	case len(d.NotMeasured) > 0:
		text += "; the network was not measured: " + d.NotMeasured[0]
	default:
		text += "; the network was not measured"
	}
	for _, c := range run.Causes {
		text += "; " + c.Summary
	}
	return text
}

func noReport(version string) string {
	switch v, known := host.ParseVersion(version); {
	case !known:
		return "no report was printed; NCCL 2.31 and later print one when a program sets up its first communicator"
	case v[0] == 2 && v[1] < 31:
		return fmt.Sprintf("NCCL %s has none; 2.31 and later do", version)
	}
	return "no report was printed before the run ended"
}

// beside compares a bandwidth with the rate of a port, in Gbit/s.
func beside(measured, rate float64) string {
	if rate == 0 {
		return ""
	}
	return fmt.Sprintf(", %.0f %% of a port's %.0f Gbit/s", 100*measured/rate, rate)
}

// portRate returns the rate of the slowest rail in the pod of rank 0, in Gbit/s; 0: unknown.
func portRate(l *Session) float64 {
	const most = 1 << 20
	ctx, cancel := Afterwards(context.Background())
	defer cancel()
	text, err := Output(ctx, l.pods, l.ranks[0].Target, kube.ExecOptions{
		Command: []string{PodProgram, "detect", "-o", "json"},
	}, most)
	var found struct {
		Rails []struct{ Rate host.Fact[host.Rate] }
	}
	if err != nil || json.NewDecoder(strings.NewReader(text)).Decode(&found) != nil {
		return 0
	}
	least := 0.0
	for _, r := range found.Rails {
		if rate := r.Rate.Value.Gbps; rate > 0 && (least == 0 || rate < least) {
			least = rate
		}
	}
	return least
}
