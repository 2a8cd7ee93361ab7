// Control-plane-demo has the programs of a control plane with the controllers that a demo needs: the others would take a fifth
// of the time that the first build takes.
package main

import (
	"os"

	"github.com/railhead/railhead/lab/modules/controlplane/controllers"
	"github.com/railhead/railhead/lab/modules/controlplane/programs"
)

func main() { os.Exit(programs.Main(controllers.Main)) }
