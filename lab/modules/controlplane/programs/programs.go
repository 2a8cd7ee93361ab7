// Package programs has the programs of a control plane in one, which is the one whose name it is started by.
//
// One program is linked once, and what two of them use is in memory once.
package programs

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // the metric of the version

	"github.com/railhead/railhead/lab/modules/controlplane/apiserver"
	"github.com/railhead/railhead/lab/modules/controlplane/kwok"
)

// Main runs the program by whose name this process was started, and returns its exit code. It has etcd, kube-apiserver,
// kwok and more of the caller's, by their names.
func Main(more map[string]func() int) int {
	name := filepath.Base(os.Args[0])
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
		return 0
	case "kube-apiserver":
		return apiserver.Main()
	case "kwok":
		return kwok.Main()
	}
	if run, ok := more[name]; ok {
		return run()
	}
	fmt.Fprintf(os.Stderr, "%s: no such program of a control plane\n", name)
	return 2
}
