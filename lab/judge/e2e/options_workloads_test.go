//go:build workloads && !openshift

package e2e_test

import (
	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/addon"
)

// options are the OpenShift with the controllers of training workloads. All stories hold there, too.
func options() controlplane.Options {
	o := controlplane.OpenShift()
	o.Workloads = addon.Workloads()
	return o
}
