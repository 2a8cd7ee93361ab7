// Package addon runs the addons of a cluster, which are pods elsewhere, as processes with the account, the rights, the
// certificates and the webhooks of their own manifests.
package addon

import (
	"slices"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/pki"
	"github.com/railhead/railhead/lab/controlplane/process"
)

// Cluster gives addons the API server, its credentials and a place for their processes.
type Cluster struct {
	Port      int // of the API server, at 127.0.0.1
	Admin     *rest.Config
	Client    client.Client // an administrator's
	Authority *pki.Authority
	Programs  assets.Programs
	Group     *process.Group
	Folder    string // for credentials, with a folder of each addon
}

// Addons runs the addons of one cluster.
type Addons struct {
	Cluster

	workloads []*process.Process // in the order of their start
	injector  *process.Kept
}

// Err returns how a controller of training workloads ended; nil while all run.
func (a *Addons) Err() error {
	for _, p := range a.workloads {
		if err := p.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Stop kills all addons.
func (a *Addons) Stop() {
	a.injector.Kill()
	for _, p := range slices.Backward(a.workloads) {
		p.Kill()
	}
}
