package podcli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rail"
)

// TestWriteGiven: a refusal says which resource gave the device that does not work.
func TestWriteGiven(t *testing.T) {
	for machine, want := range map[string][]string{
		"pod-half-broken": {
			"mlx5_8:1 PCIDEVICE_OPENSHIFT_IO_RAIL0 works",
			"mlx5_9:1 PCIDEVICE_OPENSHIFT_IO_RAIL1 not used: port 1 DOWN (Disabled)",
			"mlx5_10 PCIDEVICE_OPENSHIFT_IO_RAIL2 not used: uverbs10 not permitted",
		},
		"pod-no-address": {"mlx5_11:1 PCIDEVICE_OPENSHIFT_IO_ENO8NP0RDMA not used: only link-local GIDs"},
		"pod-roce-4vf":   nil, // all work
		"pod-no-rdma":    nil, // nothing was given
	} {
		here, err := sysfs.Open("../../testdata/hosts/" + machine + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		writeGiven(&out, rail.Resolve(here.Snapshot(), rail.Pod))
		got := strings.Join(strings.FieldsFunc(out.String(), func(r rune) bool { return r == ' ' }), " ")
		if len(want) == 0 && got != "" {
			t.Errorf("%s:\n%s", machine, out.String())
		}
		for _, line := range want {
			if !strings.Contains(got, line) {
				t.Errorf("%s: without %q:\n%s", machine, line, out.String())
			}
		}
	}
}
