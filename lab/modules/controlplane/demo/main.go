// Control-plane has the programs of a control plane, with only the controllers that a demo needs. The others take a
// fifth of the first build.
package main

import (
	"os"

	"github.com/railhead/railhead/lab/modules/controlplane/controllers"
	"github.com/railhead/railhead/lab/modules/controlplane/programs"
)

func main() { os.Exit(programs.Main(controllers.Main)) }
