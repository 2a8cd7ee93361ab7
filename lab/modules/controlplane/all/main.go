// Control-plane has the programs of a control plane, each as it is released.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/railhead/railhead/lab/modules/controlplane/programs"
)

func main() {
	os.Exit(programs.Main(map[string]func() int{
		"kube-controller-manager": func() int { return cli.Run(controllers.NewControllerManagerCommand()) },
		"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	}))
}
