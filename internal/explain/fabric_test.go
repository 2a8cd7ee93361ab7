package explain

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// TestFabricManager: each wording of CUDA error 802 names Fabric Manager and how to start it; other errors of the
// driver do not.
func TestFabricManager(t *testing.T) {
	for line, want := range map[string]story.CauseID{
		"RuntimeError: CUDA error: system not yet initialized":                                 story.FabricManager,
		"  what():  CUDA error: system not yet initialized":                                    story.FabricManager,
		"gpu-a:41:50 [0] init.cc:1 NCCL WARN Cuda failure 802 'system not yet initialized'":    story.FabricManager,
		"gpu-a:41:50 [0] init.cc:1 NCCL WARN Cuda failure 'system not yet initialized'":        story.FabricManager,
		"gpu-a:41:50 [0] init.cc:1 NCCL WARN Cuda failure 802":                                 story.FabricManager,
		"gpu-a: Test CUDA failure common.cu:892 'system not yet initialized'":                  story.FabricManager,
		"cuInit: CUDA_ERROR_SYSTEM_NOT_READY":                                                  story.FabricManager,
		"Error 802: system not yet initialized":                                                story.FabricManager,
		"RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime":       story.CUDAInstall,
		"gpu-a:41:50 [0] init.cc:1 NCCL WARN Cuda failure 803 'system has unsupported driver'": story.CUDAInstall,
	} {
		run := ofLines("train.log", []string{"loading torch", line}).Last()
		if run.Outcome != story.OutcomeFail || len(run.Causes) == 0 || run.Causes[0].ID != want {
			t.Errorf("%s: %s, %+v", line, run.Outcome, run.Causes)
			continue
		}
		starts := strings.Contains(run.Causes[0].Fix, "systemctl enable --now nvidia-fabricmanager") &&
			strings.Contains(run.Causes[0].Fix, "GPU operator")
		if starts != (want == story.FabricManager) {
			t.Errorf("%s: the fix is %s", line, run.Causes[0].Fix)
		}
	}
}
