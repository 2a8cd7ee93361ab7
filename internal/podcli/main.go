// Package podcli is the command tree of railhead-pod, the program in front of the training command.
package podcli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"
)

// Streams are where a command writes: stdout is data, stderr is talk.
type Streams struct{ Out, Err io.Writer }

// The exit codes of railhead-pod. After a successful run the code is the command's own; a command that cannot be
// started leaves 126 or 127, as with env(1).
const (
	exitFault   = 1   // something is not as it should be
	exitUsage   = 2   // the command line is wrong
	exitUnknown = 3   // something that matters could not be read
	exitRefused = 125 // run did not start the command
)

// exitError ends a command with a code; a nil err means that all has been said.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return fmt.Sprint(e.err) }
func (e exitError) Unwrap() error { return e.err }

// Main runs one command line and returns the exit code. A run that starts its command does not return.
func Main(args []string, version string, streams Streams) int {
	root := newRoot(version, streams, len(args) > 0 && args[0] == "run")
	root.SetArgs(args)
	command, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	var coded exitError
	if errors.As(err, &coded) {
		if coded.err != nil {
			fmt.Fprintf(streams.Err, "%s: %v\n", root.Name(), coded.err)
		}
		return coded.code
	}
	var unwritten *fs.PathError
	if errors.As(err, &unwritten) {
		fmt.Fprintf(streams.Err, "%s: %v\n", root.Name(), err)
		return exitFault // a full disk is no wrong command line
	}
	fmt.Fprintf(streams.Err, "%s: %v\nTry '%s --help'.\n", root.Name(), err, command.CommandPath())
	if command.Name() == "run" {
		return exitRefused // 2 might be taken for the command's own
	}
	return exitUsage
}

// newRoot builds the tree; starting says that it is only for run.
func newRoot(version string, streams Streams, starting bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "railhead-pod",
		Short: "Find the RDMA devices that this pod owns, set NCCL up from them and start the training command",
		Long: `railhead-pod finds the RDMA devices (InfiniBand or RoCE, virtual functions or whole HCAs) that this pod really owns,
derives NCCL's environment from them, lifts the locked-memory limit and starts the training command.`,
		Example: `  railhead-pod run -- torchrun --nnodes 2 train.py     start training over RDMA, or say why not
  railhead-pod detect                                  show this pod's rails
  railhead-pod doctor                                  everything that keeps RDMA from working here, with the fix
  eval "$(railhead-pod env)"                           the same environment in a shell of your own`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.CompletionOptions.DisableDefaultCmd = starting // building four shells' help takes longer than a launch's reading
	root.AddCommand(newRun(streams), newDetect(streams), newEnv(streams), newCheck(streams), newDoctor(streams), newSnapshot(streams), newInstall(streams))
	return root
}
