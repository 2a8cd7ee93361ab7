package job

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/delivery"
)

// Startup configures railhead-pod run: preflight, GPUDirect level, startup probe.
type Startup struct {
	GDRLevel     string // of NCCL: its own default
	Preflight    string // PreflightOff
	StartupProbe bool   // a pod is ready when its rails work
}

// Values of --preflight.
const (
	PreflightOff  = "off"
	PreflightWarn = "warn"
	PreflightFail = "fail"
)

// startup checks the settings that railhead-pod would refuse in every pod.
func (f *flagCheck) startup() {
	f.oneOf("--preflight", cmp.Or(f.Startup.Preflight, PreflightOff), PreflightOff, PreflightWarn, PreflightFail)
	if f.Startup.GDRLevel != "" && nccl.GDRLevel(f.Startup.GDRLevel) != nil {
		f.wrong("--gdr-level", f.Startup.GDRLevel, "LOC, PIX, PXB, PHB or SYS", "Choose one of them.")
	}
	if f.Startup.StartupProbe && f.Mode == nccl.TCP {
		f.wrong("--startup-probe", "given with --mode tcp", "given for pods with rails", "Leave out one of them.")
	}
}

// settingsOf returns the variables that set the flags of `railhead-pod run`.
func settingsOf(o *Options) []corev1.EnvVar {
	all := []corev1.EnvVar{{Name: "RAILHEAD_MODE", Value: string(o.Mode)}}
	if o.Startup.GDRLevel != "" {
		all = append(all, corev1.EnvVar{Name: "RAILHEAD_GDR_LEVEL", Value: o.Startup.GDRLevel})
	}
	if preflight := o.Startup.wantedPreflight(); preflight != "" {
		all = append(all, corev1.EnvVar{Name: "RAILHEAD_PREFLIGHT", Value: preflight})
	}
	return all
}

// wantedPreflight returns the value of --preflight; "" if the rails are not tested.
func (s Startup) wantedPreflight() string {
	if s.Preflight == PreflightOff {
		return ""
	}
	return s.Preflight
}

// startupProbe returns the probe that keeps a pod from being ready until its rails work, at most five minutes: the
// kubelet then stops the container. What could not be read (exit status 3) is no reason to stop it.
func (j *job) startupProbe() *corev1.Probe {
	if !j.Startup.StartupProbe || len(j.rails) == 0 {
		return nil
	}
	probe := corev1.Probe{PeriodSeconds: 10, FailureThreshold: 30, TimeoutSeconds: 10}
	probe.Exec = &corev1.ExecAction{Command: []string{"sh", "-c", delivery.Path + " check || [ $? -eq 3 ]"}}
	return &probe
}
