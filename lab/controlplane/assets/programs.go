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

	"github.com/railhead/railhead/tools/gobuild"
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
	within   string        // the program of many names that this one is a name of; "" if it is one of its own
	pkg      string        // the package that go build is given in that folder
	version  string        // the module whose version in go.mod is the program's
	tags     string        // build tags
	stamp    bool          // stamp k8s.io/component-base/version: unstamped, /version says v0.0.0-master
	variable string        // the variable by which any other program knows its version; "" if it needs none
	asTests  bool          // gobuild.Program.AsTests
	first    time.Duration // about how long the first build takes on two cores
}

// recipes returns the recipes of all programs. For tests, the control plane is built as they are, and what both import
// is compiled once.
func recipes(forTests bool) map[Program]recipe {
	all := controlPlaneRecipes(forTests)
	maps.Copy(all, nodeRecipes())
	maps.Copy(all, workloadRecipes())
	return all
}

// controlPlaneRecipes returns the recipes of the programs that run on the host.
func controlPlaneRecipes(forTests bool) map[Program]recipe {
	const (
		injector = "github.com/k8snetworkplumbingwg/network-resources-injector"
		kubectl  = "k8s.io/kubectl"
	)
	all := map[Program]recipe{
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
	// etcd, the programs of Kubernetes and kwok are one program: it is linked once.
	for _, p := range []Program{Etcd, APIServer, ControllerManager, Scheduler, Kwok} {
		r := recipe{
			module: "controlplane", within: "control-plane", pkg: "./all", version: "k8s.io/kubernetes", stamp: true,
			asTests: forTests, first: 6 * time.Minute,
		}
		all[p] = r
		if p != Scheduler {
			r.pkg, r.first = "./demo", 5*time.Minute
			all[InDemo(p)] = r
		}
	}
	return all
}

// InDemo names a program of a control plane that has only the controllers that a demo needs, and no scheduler: the rest
// takes long to build.
func InDemo(p Program) Program { return "demo/" + p }

// ldflags returns what the linker stamps into a program of this version.
func (r recipe) ldflags(version string) string {
	var flags []string
	if r.stamp {
		const at = "-X k8s.io/component-base/version."
		major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		flags = append(flags, at+"gitVersion="+version, at+"gitMajor="+major, at+"gitMinor="+minor,
			at+"gitTreeState=clean")
	}
	if r.variable != "" {
		flags = append(flags, "-X "+r.variable+"="+version)
	}
	return strings.Join(flags, " ")
}

// program returns what is built of a module in a folder, at a version.
func (r recipe) program(folder, version string) gobuild.Program {
	p := gobuild.Program{Folder: folder, Package: r.pkg, LDFlags: r.ldflags(version), AsTests: r.asTests}
	if r.tags != "" {
		p.Flags = []string{"-tags", r.tags}
	}
	return p
}

// flavour identifies a build apart from the sources of its module.
func (r recipe) flavour() string {
	p := r.program("", "v0.0.0")
	return strings.Join(append(p.BuildFlags(), p.LDFlags, r.pkg, r.within, runtime.GOOS, runtime.GOARCH), "\x00")
}
