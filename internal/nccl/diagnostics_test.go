package nccl

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/host"
)

// TestDiagnostics: NCCL is asked for its diagnostics where the image's version has them, or where that is not known.
func TestDiagnostics(t *testing.T) {
	for version, want := range map[string]string{
		"2.32.3": "1", "2.31.2": "1", "": "1", "2.28.9": "NCCL 2.28.9 of this image has no diagnostics; 2.31 and later do",
	} {
		var s host.Snapshot
		if version != "" {
			s.NCCL.Libraries = []host.NCCLLibrary{{Path: "/usr/lib/libnccl.so.2", Version: version}}
		}
		vars, _ := Compute(nil, s, Policy{Mode: TCP, Diagnostics: true})
		found := 0
		for _, v := range vars {
			if strings.HasSuffix(v.Name, "_DIAGNOSTICS") {
				found++
				if v.Value != want && v.Reason != want {
					t.Errorf("%q: %+v", version, v)
				}
			}
		}
		if found != 2 {
			t.Errorf("%q: %d variables", version, found)
		}
	}
	vars, _ := Compute(nil, host.Snapshot{}, Policy{Mode: TCP})
	for _, v := range vars {
		if strings.HasSuffix(v.Name, "_DIAGNOSTICS") {
			t.Errorf("nobody asked for %s", v.Name)
		}
	}
}
