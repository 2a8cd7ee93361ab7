package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
)

func TestDiagnosis(t *testing.T) {
	down := check.Finding{
		Check:    "pf-up",
		Status:   check.Fail,
		Subject:  check.Ref{Kind: check.Node},
		Summary:  "PF down",
		Evidence: []check.Evidence{{Source: "/sys/x", Got: "down", Want: "up"}},
		Fix:      &check.Fix{Text: "Bring it up.", Commands: []string{"ip link set PF up"}, Who: check.Admin},
	}
	remark := check.Finding{
		Check:   "silent-fallback",
		Status:  check.Pass,
		Subject: check.EnvRef("NCCL_NET"),
		Summary: "not set",
	}
	for name, tc := range map[string]struct {
		in         check.Report
		text, wide string
	}{
		"healthy with a remark": {
			check.Report{Findings: []check.Finding{remark}, Passed: []check.ID{"a", "b"}},
			"healthy: 2 passed\n",
			"pass: env/NCCL_NET: not set [silent-fallback]\npassed: a, b\nhealthy: 2 passed\n",
		},
		"a root cause": {
			check.Report{
				Findings: []check.Finding{down}, Passed: []check.ID{"a"},
				Skipped: []check.Skip{{Check: "b", Needs: "pf-up"}, {Check: "c", Why: "not probed"}},
			},
			"fail: node: PF down [pf-up]\n    seen: /sys/x: down (want up)\n" +
				"    fix (admin): Bring it up.\n        ip link set PF up\n" +
				"    skipped because of this: b\nnot healthy: 1 fail, 1 passed, 2 skipped\n",
			"fail: node: PF down [pf-up]\n    seen: /sys/x: down (want up)\n" +
				"    fix (admin): Bring it up.\n        ip link set PF up\n" +
				"    skipped because of this: b\npassed: a\n" +
				"skipped: c: not probed\nnot healthy: 1 fail, 1 passed, 2 skipped\n",
		},
		"many consequences": {
			check.Report{
				Findings: []check.Finding{{Check: "x", Status: check.Unknown, Summary: "not read"}},
				Skipped: []check.Skip{
					{Check: "a", Needs: "x"}, {Check: "b", Needs: "x"}, {Check: "c", Needs: "x"},
					{Check: "d", Needs: "x"}, {Check: "e", Needs: "x"}, {Check: "f", Needs: "x"},
					{Check: "g", Needs: "x"},
				},
			},
			"unknown: not read [x]\n    skipped because of this: a, b, c, d, e and 2 more\n" +
				"health unknown: 1 unknown, 0 passed, 7 skipped\n",
			"unknown: not read [x]\n    skipped because of this: a, b, c, d, e, f, g\n" +
				"health unknown: 1 unknown, 0 passed, 7 skipped\n",
		},
		"a warning, and something that could not be read": {
			check.Report{Findings: []check.Finding{
				{Check: "x", Status: check.Warn, Summary: "slow"}, {Check: "y", Status: check.Unknown, Summary: "not read"},
			}},
			"warn: slow [x]\nunknown: not read [y]\nhealth unknown: 1 warn, 1 unknown, 0 passed\n",
			"warn: slow [x]\nunknown: not read [y]\nhealth unknown: 1 warn, 1 unknown, 0 passed\n",
		},
		"the same of two subjects": {
			check.Report{Findings: []check.Finding{
				{Check: "x", Status: check.Warn, Subject: check.DeviceRef("mlx5_0"), Summary: "slow"},
				{Check: "x", Status: check.Warn, Subject: check.DeviceRef("mlx5_1"), Summary: "slow"},
			}},
			"warn: mlx5_0, mlx5_1: slow [x]\nhealthy with warnings: 2 warn, 0 passed\n",
			"warn: mlx5_0, mlx5_1: slow [x]\nhealthy with warnings: 2 warn, 0 passed\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for wide, want := range map[bool]string{false: tc.text, true: tc.wide} {
				var b strings.Builder
				Diagnosis(&b, tc.in, wide)
				if diff := cmp.Diff(want, b.String()); diff != "" {
					t.Errorf("wide %v (-want +got):\n%s", wide, diff)
				}
			}
		})
	}
}
