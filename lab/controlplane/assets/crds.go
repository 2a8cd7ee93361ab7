package assets

import (
	"context"
	"fmt"
	"path/filepath"
)

// CRDs names a set of CustomResourceDefinitions that belong together.
type CRDs string

// The sets of the lab.
const (
	// Security is OpenShift's security.openshift.io: SecurityContextConstraints and range allocations.
	Security CRDs = "security"
	// Config has the kinds of OpenShift's config.openshift.io that this lab fills: cluster version, operators,
	// infrastructure, scheduler.
	Config CRDs = "config"
	// MachineConfiguration is OpenShift's machineconfiguration.openshift.io and the operator's own configuration.
	MachineConfiguration CRDs = "machineconfiguration"
	// SRIOV is the SR-IOV network operator's sriovnetwork.openshift.io.
	SRIOV CRDs = "sriov"
	// NVIDIA is mellanox.com of NVIDIA's network operator: networks and the policy of its device plugins.
	NVIDIA CRDs = "nvidia"
	// Networks is k8s.cni.cncf.io: NetworkAttachmentDefinitions.
	Networks CRDs = "networks"
	// JobSets is jobset.x-k8s.io, with the roles and webhooks of its controller. The set of any other controller of
	// training workloads has the controller's name, too.
	JobSets = CRDs(JobSet)
	// IPPools is whereabouts.cni.cncf.io: the pools and reservations in which whereabouts keeps addresses, of its own
	// version.
	IPPools CRDs = "ippools"
)

const (
	openshiftAPI = "github.com/openshift/api"
	networksAPI  = "github.com/k8snetworkplumbingwg/network-attachment-definition-client"
	sriovAPI     = "github.com/k8snetworkplumbingwg/sriov-network-operator"
	nvidiaAPI    = "github.com/Mellanox/network-operator"
	kwokModule   = "sigs.k8s.io/kwok"
	whereabouts  = "github.com/k8snetworkplumbingwg/whereabouts"
)

// manifests says which files of which module are wanted. openshift/api has several variants of most CRDs, for feature
// sets and topologies, so its files are named one by one; the others' folders are taken whole.
type manifests struct {
	pins   string // folder in lab/modules whose go.mod pins the module; "" is the lab's own
	module string
	files  []string // patterns
}

func manifestsOf(set CRDs) (manifests, bool) {
	switch set {
	case Security:
		return manifests{module: openshiftAPI, files: []string{"security/v1/zz_generated.crd-manifests/*.yaml"}}, true
	case Config:
		return manifests{module: openshiftAPI, files: in("config/v1/zz_generated.crd-manifests/",
			"0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml",
			"0000_00_cluster-version-operator_01_clusteroperators.crd.yaml",
			"0000_10_config-operator_01_infrastructures-Default.crd.yaml",
			"0000_10_config-operator_01_schedulers-SelfManagedHA-Default.crd.yaml")}, true
	case MachineConfiguration:
		return manifests{
			module: openshiftAPI,
			files: append(
				in("machineconfiguration/v1/zz_generated.crd-manifests/0000_80_machine-config_01_",
					"machineconfigs.crd.yaml", "machineconfigpools-Default.crd.yaml",
					"controllerconfigs-Default.crd.yaml", "kubeletconfigs.crd.yaml", "containerruntimeconfigs.crd.yaml",
					"machineosconfigs.crd.yaml", "machineosbuilds.crd.yaml"),
				"operator/v1/zz_generated.crd-manifests/"+
					"0000_80_machine-config_01_machineconfigurations-Default.crd.yaml",
			),
		}, true
	case SRIOV:
		return manifests{module: sriovAPI, files: []string{"config/crd/bases/*.yaml"}}, true
	case NVIDIA:
		return manifests{pins: "nvidia", module: nvidiaAPI, files: []string{"config/crd/bases/*.yaml"}}, true
	case Networks:
		return manifests{module: networksAPI, files: []string{"artifacts/networks-crd.yaml"}}, true
	case IPPools:
		return manifests{
			pins:   "whereabouts",
			module: whereabouts,
			files:  []string{"doc/crds/whereabouts.cni.cncf.io_*.yaml"},
		}, true
	}
	m, ok := workloadManifests()[Program(set)]
	return m, ok
}

func in(prefix string, names ...string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

// CRDFiles returns the manifests of the sets. Those of controllers have other objects besides.
func CRDFiles(ctx context.Context, sets ...CRDs) ([]string, error) {
	var files []string
	for _, set := range sets {
		m, ok := manifestsOf(set)
		if !ok {
			return nil, fmt.Errorf("CRDs %s: no such set", set)
		}
		found, err := m.find(ctx)
		if err != nil {
			return nil, fmt.Errorf("CRDs %s: %w", set, err)
		}
		files = append(files, found...)
	}
	return files, nil
}

// KwokStages returns the manifests that tell kwok how nodes and pods behave: nodes become ready and send heartbeats,
// pods become ready at once, deleted pods go. kwok does nothing without stages. Left out is the one by which pods of
// Jobs end as soon as they run: training does not.
func KwokStages(ctx context.Context) ([]string, error) {
	return manifests{pins: "controlplane", module: kwokModule, files: in("kustomize/stage/",
		"node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
		"pod/fast/pod-ready.yaml", "pod/fast/pod-delete.yaml")}.find(ctx)
}

func (m manifests) find(ctx context.Context) ([]string, error) {
	folder, err := Root()
	if err != nil {
		return nil, err
	}
	if m.pins != "" {
		folder = filepath.Join(folder, "modules", m.pins)
	}
	dirs, err := sources(ctx, folder, m.module)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, pattern := range m.files {
		found, err := filepath.Glob(filepath.Join(dirs[m.module], pattern))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("module %s has no %s", m.module, pattern)
		}
		files = append(files, found...)
	}
	return files, nil
}
