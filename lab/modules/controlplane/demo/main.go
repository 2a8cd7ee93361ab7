// Control-plane has the programs of a control plane that a demo needs: not kube-scheduler, and few controllers. The
// rest takes long to build.
package main

import (
	"os"

	"github.com/railhead/railhead/lab/modules/controlplane/controllers"
	"github.com/railhead/railhead/lab/modules/controlplane/programs"
)

func main() {
	os.Exit(programs.Main(map[string]func() int{"kube-controller-manager": controllers.Main}))
}
