// Control-plane is one program with the programs of a control plane in it. It is the one whose name it is started by.
//
// One program is linked once, and every package that two of them use is compiled and mapped into memory once.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // the metric of the version
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/railhead/railhead/lab/modules/controlplane/apiserver"
	"github.com/railhead/railhead/lab/modules/controlplane/kwok"
)

func main() {
	name := filepath.Base(os.Args[0])
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(apiserver.Main())
	case "kube-controller-manager":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kwok":
		os.Exit(kwok.Main())
	}
	fmt.Fprintf(os.Stderr, "%s: no such program of a control plane\n", name)
	os.Exit(2)
}
