package job

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/plan/volume"
	"github.com/railhead/railhead/internal/workload"
)

// homeFolder is the home of pods that are not root. The image has a writable one only for its own user, and OpenShift
// gives the pods of a namespace a user that no image knows.
const homeFolder = "/railhead/home"

// home returns the variables that give the pods a writable home, unless they are root or may be, or the user sets HOME.
// Every cache follows HOME: Hugging Face (huggingface_hub/constants.py), Triton (triton/knobs.py), torch.hub and
// extensions (torch/hub.py, torch/_appdirs.py), CUDA (~/.nv/ComputeCache), pip and matplotlib. Only TorchInductor uses
// /tmp, and the name of the user, for which Python needs USER where /etc/passwd has none (torch/_inductor/runtime
// cache_dir_utils.py, Python getpass.getuser).
func (j *admission) home() []corev1.EnvVar {
	if _, own := j.Env["HOME"]; own || !j.access.NonRoot {
		return nil
	}
	return []corev1.EnvVar{{Name: "HOME", Value: homeFolder}, {Name: "USER", Value: workload.TrainContainer}}
}

// volumes returns the volumes of the user, and the home.
func (j *admission) volumes() []volume.Volume {
	if len(j.home()) == 0 {
		return j.Volumes
	}
	return append(slices.Clone(j.Volumes), volume.Volume{Name: "railhead-home", Kind: volume.Empty, Path: homeFolder})
}
