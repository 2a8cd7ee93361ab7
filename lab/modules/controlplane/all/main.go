// Control-plane has the programs of a control plane, each as it is released.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"github.com/railhead/railhead/lab/modules/controlplane/programs"
)

func main() {
	os.Exit(programs.Main(func() int { return cli.Run(app.NewControllerManagerCommand()) }))
}
