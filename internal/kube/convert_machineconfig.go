package kube

import (
	"maps"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/railhead/railhead/internal/cluster"
)

// crioFolder holds CRI-O's configuration; of a MachineConfig's files only those in it are kept.
const crioFolder = "/etc/crio/"

// machineConfigPool has the fields of a MachineConfigPool that are read (openshift/api machineconfiguration/v1
// types.go).
type machineConfigPool struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NodeSelector          *metav1.LabelSelector `json:"nodeSelector"`
		MachineConfigSelector *metav1.LabelSelector `json:"machineConfigSelector"`
		Paused                bool                  `json:"paused"`
		MaxUnavailable        *intstr.IntOrString   `json:"maxUnavailable"`
		Configuration         poolConfiguration     `json:"configuration"`
	} `json:"spec"`
	Status struct {
		Configuration           poolConfiguration  `json:"configuration"`
		MachineCount            int                `json:"machineCount"`
		UpdatedMachineCount     int                `json:"updatedMachineCount"`
		ReadyMachineCount       int                `json:"readyMachineCount"`
		UnavailableMachineCount int                `json:"unavailableMachineCount"`
		DegradedMachineCount    int                `json:"degradedMachineCount"`
		ObservedGeneration      int64              `json:"observedGeneration"`
		Conditions              []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

type poolConfiguration struct {
	Name   string `json:"name"`
	Source []struct {
		Name string `json:"name"`
	} `json:"source"`
}

func convertPool(p *machineConfigPool) cluster.Pool {
	nodes := selector(p.Spec.NodeSelector)
	pool := cluster.Pool{
		Name:            p.Name,
		Paused:          p.Spec.Paused,
		ConfigSelector:  selector(p.Spec.MachineConfigSelector),
		NodeSelector:    nodes.MatchLabels,
		NodeExpressions: nodes.MatchExpressions,
		Annotations:     ours(p.Annotations),
		Target:          p.Spec.Configuration.Name,
		Current:         p.Status.Configuration.Name,
		TargetSources:   p.Spec.Configuration.sources(),
		CurrentSources:  p.Status.Configuration.sources(),
		Machines:        p.Status.MachineCount,
		Updated:         p.Status.UpdatedMachineCount,
		Ready:           p.Status.ReadyMachineCount,
		Unavailable:     p.Status.UnavailableMachineCount,
		Degraded:        p.Status.DegradedMachineCount,
		Generation:      p.Generation,
		Observed:        p.Status.ObservedGeneration,
	}
	if m := p.Spec.MaxUnavailable; m != nil {
		pool.MaxUnavailable = m.String()
	}
	for _, c := range p.Status.Conditions {
		pool.Conditions = append(pool.Conditions, cluster.Condition{
			Type:    c.Type,
			Status:  string(c.Status),
			Reason:  c.Reason,
			Message: c.Message,
			Since:   c.LastTransitionTime.UTC(),
		})
	}
	return pool
}

// ours returns the annotations that plans write: others may be long.
func ours(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	maps.DeleteFunc(kept, func(name, _ string) bool { return !strings.HasPrefix(name, "railhead.dev/") })
	if len(kept) == 0 {
		return nil
	}
	return kept
}

func (c poolConfiguration) sources() []string {
	var names []string
	for _, s := range c.Source {
		names = append(names, s.Name)
	}
	return names
}

func selector(s *metav1.LabelSelector) cluster.Selector {
	if s == nil {
		return cluster.Selector{}
	}
	converted := cluster.Selector{MatchLabels: s.MatchLabels}
	for _, e := range s.MatchExpressions {
		converted.MatchExpressions = append(converted.MatchExpressions,
			cluster.Requirement{Key: e.Key, Operator: string(e.Operator), Values: e.Values})
	}
	return converted
}

// machineConfig has the fields of a MachineConfig that are read. Its config is Ignition 3.x, or 2.x in an old one, with
// the files in the same place.
type machineConfig struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		KernelArguments []string `json:"kernelArguments"`
		Config          struct {
			Storage struct {
				Files []ignitionFile `json:"files"`
			} `json:"storage"`
		} `json:"config"`
	} `json:"spec"`
}

// convertMachineConfig keeps the kernel arguments and CRI-O's files. A rendered MachineConfig has 150 KB of others.
func convertMachineConfig(m *machineConfig) cluster.MachineConfig {
	config := cluster.MachineConfig{
		Name:            m.Name,
		Labels:          m.Labels,
		KernelArguments: kernelArguments(m.Spec.KernelArguments),
		// machine-config-operator pkg/controller/render/hash.go names its results rendered-<pool>-<hash>
		Rendered: strings.HasPrefix(m.Name, "rendered-"),
	}
	for _, f := range m.Spec.Config.Storage.Files {
		if strings.HasPrefix(path.Clean(f.Path), crioFolder) {
			config.Files = append(config.Files, f.read())
		}
	}
	return config
}

// kernelArguments splits the entries at blanks outside double quotes (machine-config-operator pkg/daemon/update.go
// parseKernelArguments).
func kernelArguments(entries []string) []string {
	var arguments []string
	for _, entry := range entries {
		quoted := false
		arguments = append(arguments, strings.FieldsFunc(entry, func(r rune) bool {
			if r == '"' {
				quoted = !quoted
			}
			return !quoted && strings.ContainsRune(" \t\n\v\f\r", r)
		})...)
	}
	return arguments
}
