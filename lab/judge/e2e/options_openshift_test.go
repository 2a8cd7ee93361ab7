//go:build openshift

package e2e_test

import (
	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
)

// options are the OpenShift with the JobSet controller and the network-resources-injector. All stories hold there, too.
func options() controlplane.Options {
	o := controlplane.OpenShift()
	o.Workloads, o.Injector = []assets.Program{assets.JobSet}, true
	return o
}
