package job

import (
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// memlockLimited returns a training cluster whose nodes keep the memlock limit.
func memlockLimited() cluster.State {
	s := plantest.Training()
	s.MachineConfigs, s.Pools[0].CurrentSources, s.Pools[0].TargetSources = nil, nil, nil
	return s
}

// programs returns two small stand-ins for railhead-pod.
func programs() []delivery.Program {
	return []delivery.Program{delivery.Packed("amd64", []byte("amd64 program")), delivery.Packed("arm64", []byte("arm64 program"))}
}

func jobOptions() Options {
	return Options{
		Name:      "h-kim",
		Namespace: "train",
		Kind:      StatefulSet,
		Nodes:     2,
		Image:     "registry.example.com/torch:2.9",
		Programs:  programs(),
		Command:   []string{"torchrun", "train.py"},
	}
}
