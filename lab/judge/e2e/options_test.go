//go:build !openshift && !workloads

package e2e_test

import (
	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
)

// options are the OpenShift without the controllers that take minutes to build: its server checks JobSets, and nothing
// acts on them.
func options() controlplane.Options {
	o := controlplane.OpenShift()
	o.CRDs = []assets.CRDs{assets.JobSets}
	return o
}
