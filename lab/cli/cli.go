// Package cli is the command line of the lab.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// exitError ends the program with a code of its own.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// app is shared by all commands.
type app struct {
	out, err io.Writer
	name     string // of the lab
}

// defaultName is the name of a lab that was started without --name.
const defaultName = "default"

// typed returns the command line of a command for this lab, for the root of the repository.
func (a *app) typed(command string) string {
	if a.name != defaultName {
		command = "--name " + a.name + " " + command
	}
	return "go -C lab run . " + command
}

// say writes a line for people.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }

// Main runs a command line and returns the exit code: 0, 1 for a failure, 2 for a command line that is wrong, 130 after
// Ctrl-C, and that of the command for exec.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{out: stdout, err: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var exit exitError
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	case ctx.Err() != nil:
		a.say("interrupted")
		return 130
	case errors.As(err, &wrong), strings.HasPrefix(err.Error(), "unknown "):
		a.say("lab: %v\nSee 'lab --help'.", err)
		return 2
	}
	a.say("lab: %v", err)
	return 1
}

// usageError is a command line that is wrong.
type usageError struct{ error }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "Boot a fabric: Kubernetes nodes in virtual machines with SR-IOV, an IOMMU and RDMA",
		Long: `Boot a fabric on this machine: Kubernetes nodes in virtual machines with SR-IOV, an IOMMU and RDMA.

It needs Linux on x86-64, Go, and apt-get to download packages; no root, no hypervisor and no RDMA card. Downloads and
builds are kept in ~/.cache/railhead/lab.`,
		Example: `  lab up                                  # two nodes; prints the way to them
  lab up --pods-only                      # two machines without Kubernetes, faster
  lab exec node-a -- rdma link
  lab fault list
  lab down`,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().StringVar(&a.name, "name", defaultName, "name of the lab: several run side by side")
	root.AddCommand(a.build(), a.up(), a.serve(), a.status(), a.exec(), a.fault(), a.heal(), a.capture(), a.down())
	return root
}

// arguments lets a command have so many arguments.
func arguments(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("%s takes %s", cmd.Name(), what)}
		}
		return nil
	}
}
