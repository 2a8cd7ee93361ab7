// Package cli is the command tree of railhead, the program of the engineer and of the administrator.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
)

// Streams are the input and output of a command: data goes to Out, messages to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	TTY      bool // In and Err are a terminal
	Width    int  // columns of the terminal
	Color    bool
}

// Main runs a command line and returns the exit code. program is the path of the program; messages of kubectl-railhead
// call it "kubectl railhead".
func Main(ctx context.Context, program string, args []string, version string, streams Streams) int {
	app := &app{streams: streams, version: version, flags: kube.NewFlags()}
	root := app.root(displayName(program))
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	var coded exit.Error
	switch {
	case err == nil:
		return int(exit.OK)
	case ctx.Err() != nil:
		return int(exit.Interrupted)
	case errors.As(err, &coded):
		if coded.Err != nil {
			fmt.Fprintf(streams.Err, "%s: %v\n", displayName(program), coded.Err)
		}
		return int(coded.Code)
	}
	fmt.Fprintf(streams.Err, "%s: %v\nTry '%s --help'.\n", displayName(program), err, command.CommandPath())
	return int(exit.Usage)
}

// unknown returns err with the code for facts that could not be read.
func unknown(err error) error {
	var coded exit.Error
	if errors.As(err, &coded) {
		err = coded.Err
	}
	return exit.Error{Code: exit.Unknown, Err: err}
}

func displayName(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if strings.HasPrefix(name, "kubectl-") {
		return "kubectl railhead"
	}
	return "railhead"
}

// app is shared by all commands.
type app struct {
	streams Streams
	version string
	flags   *kube.Flags
}

func (a *app) root(name string) *cobra.Command {
	root := &cobra.Command{
		Use:   "railhead",
		Short: "Make RDMA work for multi-node GPU training on Kubernetes and OpenShift",
		Long: `railhead sets up a cluster and a namespace for RDMA, deploys a training job with every rail of its
nodes, starts the training in all its pods and reports which network it really used.

The cluster comes from the kubeconfig, as with kubectl. The other flags of kubectl (--server, --token, --as, ...) work
too.

Exit status: 0 success; 1 a fault was found or the command failed; 2 wrong command line; 3 something that matters could
not be read; 130 interrupted. Commands with other codes list them in their help.`,
		Example: `  railhead inventory                                   show what the cluster has and what is missing
  railhead setup cluster                               once, as an administrator
  railhead setup namespace train                       service account, rights, network attachments
  railhead deploy h-kim -n train --type multi --nodes 2 --image IMAGE
  railhead launch h-kim -n train -- torchrun train.py
  railhead doctor h-kim -n train                       find what keeps RDMA from working, and the fix`,
		Version:       a.version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: name},
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.streams.In)
	root.SetOut(a.streams.Out)
	root.SetErr(a.streams.Err)
	a.flags.AddFlags(root.PersistentFlags())
	shown := []string{"kubeconfig", "context", "namespace"} // kubectl documents the others
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shown, f.Name) })
	root.AddCommand(newInventory(a), newSetup(a), newDeploy(a), newInject(a), newLaunch(a), newStatus(a),
		newLogs(a), newExplain(a), newDelete(a),
		a.newDoctor(), newExplainCheck(a), a.newReport(), a.newBench())
	return root
}

// say prints a message.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.streams.Err, format+"\n", args...) }

func (a *app) sayLine(line string) { fmt.Fprintln(a.streams.Err, line) }
