package image

import (
	"strings"
	"testing"
)

func TestRunsOn(t *testing.T) {
	if err := runsOn("linux", "amd64"); err != nil {
		t.Error(err)
	}
	for system, architecture := range map[string]string{"linux": "arm64", "darwin": "amd64"} {
		err := runsOn(system, architecture)
		if err == nil || !strings.Contains(err.Error(), system+"/"+architecture) ||
			!strings.Contains(err.Error(), "Linux on x86-64") {
			t.Errorf("%s/%s: %v", system, architecture, err)
		}
	}
}
