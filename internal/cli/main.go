// Package cli is the command tree of railhead, the program of the engineer and of the administrator.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/report/help"
)

// Main runs a command line and returns the exit code. program is the path of the program; messages of kubectl-railhead
// call it "kubectl railhead".
func Main(ctx context.Context, program string, args []string, version string, streams Streams) int {
	app := &app{Streams: streams, version: version, flags: &kube.Flags{}}
	root := app.root(displayName(program))
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	var coded exit.Error
	switch {
	case err == nil:
		return int(exit.OK)
	case interrupted(ctx, err):
		return int(exit.Interrupted)
	case errors.As(err, &coded):
		if coded.Err != nil { // nil: the command's output tells it
			fmt.Fprintf(streams.Err, "%s: %v\n", displayName(program), coded.Err)
		}
		return int(coded.Code)
	}
	// An error without a code is one of cobra's, about the command line.
	fmt.Fprintf(streams.Err, "%s: %v\nTry '%s --help'.\n", displayName(program), err, command.CommandPath())
	return int(exit.Usage)
}

// ended is the result of a command that only Ctrl-C ends.
type ended struct{ error }

func (e ended) Unwrap() error { return e.error }

// interrupted reports whether Ctrl-C kept a command from its result.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && !errors.As(err, new(ended))
}

// unknown returns err with the code for facts that could not be read.
func unknown(err error) error {
	var coded exit.Error
	if errors.As(err, &coded) {
		err = coded.Err
	}
	return exit.Error{Code: exit.Unknown, Err: err}
}

// usage returns err with the code for a wrong command line, without a hint at the help.
func usage(err error) error { return exit.Error{Code: exit.Usage, Err: err} }

// wrongInput returns err with the code for a file that could not be read, or else for a wrong command line.
func wrongInput(err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return unknown(err)
	}
	return usage(err)
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
	Streams
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

		PersistentPreRunE: checkFlags,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	a.flags.AddFlags(root.PersistentFlags())
	shown := map[string]string{ // kubectl documents the others
		"kubeconfig": "kubeconfig `file` (default: $KUBECONFIG or ~/.kube/config)",
		"context":    "`name` of the context in the kubeconfig (default: its current one)",
		"namespace":  "`namespace` (default: that of the context)",
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = shown[f.Name] == ""
		f.Usage = cmp.Or(shown[f.Name], f.Usage)
	})
	help.Fit(root, a.Width)
	root.AddCommand(newInventory(a), newSetup(a), newDeploy(a), newInject(a), newLaunch(a), newStatus(a), newLogs(a),
		newRestart(a), newExplain(a), newDelete(a), newDoctor(a), newExplainCheck(a), newReport(a), newBench(a),
		newWebhook(a), newWire(a), newMCP(a), newVersion(a))
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil { // cobra prints help for an unknown shell
		c.Args, c.RunE = noSuchCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	return root
}

// newVersion prints what --version does: kubectl and oc have a command for it.
func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Long:    "version prints the version of the program, as --version does. It needs no cluster.",
		Example: "  railhead version",
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(a.Out, "%s version %s\n", cmd.Root().DisplayName(), a.version)
			return err
		},
	}
}

// connect connects to the cluster, and returns the namespace of the command line or the kubeconfig.
func (a *app) connect(ctx context.Context) (client *kube.Client, namespace string, err error) {
	if namespace, _, err = a.flags.Namespace(); err != nil {
		return nil, "", exit.Failed(err)
	}
	if client, err = a.flags.Connect(ctx); err != nil {
		return nil, "", exit.Failed(err)
	}
	client.Talk = a.sayLine
	return client, namespace, nil
}

// read connects to the cluster and reads a part of its state.
func (a *app) read(ctx context.Context, want kube.Want) (*kube.Client, cluster.State, error) {
	client, _, err := a.connect(ctx)
	if err != nil {
		return nil, cluster.State{}, err
	}
	s, err := client.Read(ctx, want)
	if err != nil {
		return nil, cluster.State{}, exit.Failed(err)
	}
	return client, s, nil
}
