// Package programs has the programs of a control plane in one, which is the one whose name it is started by.
//
// One program is linked once, and what two of them use is in memory once.
package programs

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // the metric of the version
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/railhead/railhead/lab/modules/controlplane/apiserver"
	"github.com/railhead/railhead/lab/modules/controlplane/kwok"
)

// Main runs the program by whose name this process was started, and returns its exit code. controllerManager runs
// kube-controller-manager.
func Main(controllerManager func() int) int {
	name := filepath.Base(os.Args[0])
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
		return 0
	case "kube-apiserver":
		return apiserver.Main()
	case "kube-controller-manager":
		return controllerManager()
	case "kube-scheduler":
		return cli.Run(scheduler.NewSchedulerCommand())
	case "kwok":
		return kwok.Main()
	}
	fmt.Fprintf(os.Stderr, "%s: no such program of a control plane\n", name)
	return 2
}
