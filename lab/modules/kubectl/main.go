// Kubectl is the one of the Kubernetes release whose API server the lab runs, as k8s.io/kubernetes/cmd/kubectl builds
// it.
package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // as k8s.io/kubernetes/cmd/kubectl has it
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
	os.Exit(0)
}
