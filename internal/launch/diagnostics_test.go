package launch

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/kube"
)

// detected answers what railhead-pod detects in a pod.
type detected struct {
	Pods
	answer string
}

func (d detected) Exec(_ context.Context, _ kube.PodRef, o kube.ExecOptions) (int, error) {
	_, err := io.WriteString(o.Stdout, d.answer)
	return 0, err
}

// TestDiagnosis: the report of NCCL's diagnostics is summed up beside the rate of a port, or it is said why there is
// none.
func TestDiagnosis(t *testing.T) {
	const version = "gpu-a:1:2 [0] NCCL INFO NCCL version 2.32.3+cuda13.0\n"
	const rails = `{"rails": [{"rate": "400 Gb/sec (4X NDR)"}, {"rate": "200 Gb/sec (4X HDR)"}]}`
	for name, c := range map[string]struct{ log, rails, want string }{
		"measured": {version + "gpu-a:1 NCCL DIAG [OK] net bw: 180.0/191.5/192.0 Gbit/s min/median/max same-nic bw " +
			"(across 16 " +
			"ranks) in comm 0x7", rails, "1 check passed, 0 notes; the network between neighbours has 192 Gbit/s " +
			"(median), 180 Gbit/s at least, 90 % of a port's 200 Gbit/s"},
		"a rate that is not known": {version + "gpu-a:1 NCCL DIAG [OK] net bw: 380.1/391.0/392.0 Gbit/s " +
			"min/median/max " +
			"same-nic bw (across 16 ranks)", "{}", "391 Gbit/s (median), 380 Gbit/s at least"},
		"without the tool": {version + "gpu-a:1 NCCL DIAG [INFO] net bw: mode=same server_rank=0 client_rank=8 " +
			"required " +
			"external tool missing", rails, "the network was not measured: mode=same server_rank=0"},
		"with a finding": {version + "gpu-a:1 NCCL DIAG [INFO] ECC: uncorrected volatile errors on rank(s) {3} " +
			"(worst=2)",
			rails, "0 checks passed, 1 note; the network was not measured; NCCL's diagnostics: a GPU has uncorrected errors"},
		"an older NCCL": {"gpu-a:1:2 [0] NCCL INFO NCCL version 2.28.9+cuda12.9", rails,
			"NCCL 2.28.9+cuda12.9 has none; 2.31 and later do"},
		"no communicator": {version, rails, "no report was printed before the run ended"},
		"nothing":         {"hello", rails, "no report was printed; NCCL 2.31 and later print one"},
	} {
		l := New(detected{answer: c.rails}, Streams{Out: io.Discard, Err: io.Discard}, make([]Target, 1), nil)
		take := l.Evidence.Stream("rank 0")
		for line := range strings.Lines(c.log) {
			take([]byte(strings.TrimSuffix(line, "\n")))
		}
		if got := diagnosis(l); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	l := New(detected{}, Streams{Out: io.Discard, Err: io.Discard}, make([]Target, 1), nil)
	if examined(l) {
		t.Error("nobody asked for diagnostics")
	}
	if l.Env = []string{DiagnosticsVariable + "=true"}; !examined(l) {
		t.Error("the flag asks for them")
	}
}
