// Package assets builds and finds the programs, CRDs and manifests of the lab's control plane and nodes.
//
// Every version is pinned by a go.mod: programs by the modules in lab/modules, CRDs by lab/go.mod and by the module
// of the controller they belong to. Nothing is downloaded but Go modules, and nothing is copied into the repository.
package assets

import (
	"maps"
	"runtime"
	"strings"
	"time"
)

// Program names a program that Build can build.
type Program string

// The programs of the lab's control plane.
const (
	Etcd              Program = "etcd"
	APIServer         Program = "kube-apiserver" // with OpenShift's SCC admission compiled in
	ControllerManager Program = "kube-controller-manager"
	Scheduler         Program = "kube-scheduler"
	Kwok              Program = "kwok"
	// MachineConfigController has the machine-config-operator's render, node and drain controllers.
	MachineConfigController Program = "machine-config-controller"
	// Injector is the network-resources-injector.
	Injector Program = "network-resources-injector"
	// InCluster starts a program that only knows the configuration of a pod.
	InCluster Program = "in-cluster"
	// Kubectl is measured against railhead.
	Kubectl Program = "kubectl"
)

// recipe says how a program is built.
type recipe struct {
	module   string        // folder in lab/modules
	pkg      string        // the package that go build is given in that folder
	version  string        // the module whose version in go.mod is the program's
	tags     string        // build tags
	stamp    bool          // stamp k8s.io/component-base/version: unstamped, /version says v0.0.0-master
	variable string        // the variable by which any other program knows its version; "" if it needs none
	first    time.Duration // about how long the first build takes on two cores
}

// recipes returns the recipes of all programs.
func recipes() map[Program]recipe {
	all := controlPlaneRecipes()
	maps.Copy(all, nodeRecipes())
	maps.Copy(all, workloadRecipes())
	return all
}

// controlPlaneRecipes returns the recipes of the programs that run on the host.
func controlPlaneRecipes() map[Program]recipe {
	const (
		kubernetes = "k8s.io/kubernetes"
		etcd       = "go.etcd.io/etcd/server/v3"
		kwok       = "sigs.k8s.io/kwok"
		injector   = "github.com/k8snetworkplumbingwg/network-resources-injector"
		kubectl    = "k8s.io/kubectl"
	)
	return map[Program]recipe{
		Etcd: {module: "kube", pkg: etcd, version: etcd, first: time.Minute},
		APIServer: {
			module:  "kube",
			pkg:     "./kube-apiserver",
			version: kubernetes,
			stamp:   true,
			first:   4 * time.Minute,
		},
		ControllerManager: {
			module:  "kube",
			pkg:     kubernetes + "/cmd/kube-controller-manager",
			version: kubernetes,
			stamp:   true,
			first:   90 * time.Second,
		},
		// Most of it is in the others' build cache by then.
		Scheduler: {
			module:  "kube",
			pkg:     kubernetes + "/cmd/kube-scheduler",
			version: kubernetes,
			stamp:   true,
			first:   10 * time.Second,
		},
		Kwok: {module: "kwok", pkg: kwok + "/cmd/kwok", version: kwok, first: 20 * time.Second},
		MachineConfigController: {
			module: "machineconfig", pkg: ".", version: "github.com/openshift/machine-config-operator",
			// Without them its image libraries want gpgme, btrfs and devicemapper, which are C.
			tags:  "containers_image_openpgp exclude_graphdriver_btrfs exclude_graphdriver_devicemapper",
			first: 150 * time.Second,
		},
		Injector:  {module: "injector", pkg: injector + "/cmd/webhook", version: injector, first: 2 * time.Minute},
		InCluster: {module: "injector", pkg: "./in-cluster", version: injector, first: time.Second},
		Kubectl:   {module: "kubectl", pkg: ".", version: kubectl, first: time.Minute},
	}
}

// arguments returns the arguments of go build, without the output and the package.
func (r recipe) arguments(version string) []string {
	ldflags := "-s -w"
	if r.stamp {
		const at = " -X k8s.io/component-base/version."
		major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		ldflags += at + "gitVersion=" + version + at + "gitMajor=" + major + at + "gitMinor=" + minor
		ldflags += at + "gitTreeState=clean"
	}
	if r.variable != "" {
		ldflags += " -X " + r.variable + "=" + version
	}
	args := []string{"build", "-buildvcs=false", "-trimpath", "-ldflags", ldflags}
	if r.tags != "" {
		args = append(args, "-tags", r.tags)
	}
	return args
}

// flavour identifies a build apart from the sources of its module.
func (r recipe) flavour() string {
	return strings.Join(append(r.arguments("v0.0.0"), r.pkg, runtime.GOOS, runtime.GOARCH), "\x00")
}
