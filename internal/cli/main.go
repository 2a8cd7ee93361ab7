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

	"github.com/railhead/railhead/internal/kube"
)

// Streams are where a command reads and writes: stdout is data, stderr is talk.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	TTY      bool // a person sits at In and Err
	Width    int  // columns of the terminal
	Color    bool
}

// The exit codes of railhead, beside those of the commands that launch runs.
const (
	exitFault       = 1   // something is not as it should be, or was refused
	exitUsage       = 2   // the command line is wrong
	exitUnknown     = 3   // something that matters could not be read
	exitInterrupted = 130 // Ctrl-C, as shells have it
)

// exitError ends a command with a code; a nil err means that all has been said.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return fmt.Sprint(e.err) }
func (e exitError) Unwrap() error { return e.err }

// fault is an error that is not about the command line.
func fault(err error) error { return exitError{exitFault, err} }

// Main runs one command line and returns the exit code. program is the path that railhead was called by: as
// kubectl-railhead it is "kubectl railhead" in all that it says.
func Main(ctx context.Context, program string, args []string, version string, streams Streams) int {
	app := &app{streams: streams, version: version, flags: kube.NewFlags()}
	root := app.root(spoken(program))
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	var coded exitError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &coded):
		if coded.err != nil {
			fmt.Fprintf(streams.Err, "%s: %v\n", spoken(program), coded.err)
		}
		return coded.code
	}
	fmt.Fprintf(streams.Err, "%s: %v\nTry '%s --help'.\n", spoken(program), err, command.CommandPath())
	return exitUsage
}

// spoken is how a user calls the program.
func spoken(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if strings.HasPrefix(name, "kubectl-") {
		return "kubectl railhead"
	}
	return "railhead"
}

// app is what every command has.
type app struct {
	streams Streams
	version string
	flags   *kube.Flags
}

func (a *app) root(name string) *cobra.Command {
	root := &cobra.Command{
		Use:   "railhead",
		Short: "Make RDMA work for multi-node GPU training on Kubernetes and OpenShift",
		Long: `railhead sets a cluster and a namespace up for RDMA, deploys a training job with every rail of its nodes, starts the
training in all its pods and says which network it really used.

The cluster is the kubeconfig's, as for kubectl, whose other flags (--server, --token, --as, ...) are taken too.`,
		Example: `  railhead inventory                                   what the cluster has, and what is missing
  railhead setup cluster                               once, as an administrator
  railhead setup namespace train                       service account, rights, network attachments
  railhead deploy h-kim -n train --type multi --nodes 2 --image IMAGE
  railhead launch h-kim -n train -- torchrun train.py
  railhead doctor h-kim -n train                       what keeps RDMA from working, and the fix`,
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
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = !slices.Contains([]string{"kubeconfig", "context", "namespace"}, f.Name) // help is about railhead
	})
	root.AddCommand(a.newInventory(), a.newSetup(), a.newDeploy(), a.newInject(), a.newLaunch(), a.newStatus(), a.newLogs(), a.newExplain(), a.newDelete(),
		a.newDoctor(), a.newExplainCheck(), a.newReport(), a.newBench())
	return root
}

// say writes talk.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.streams.Err, format+"\n", args...) }

// orDash is what a cell shows for nothing.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
