package podcli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/launch"
)

func newInstall(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "install DIR",
		Short: "Copy this program into a folder, for an init container whose image has no shell",
		Long: `install copies this very program to DIR/railhead-pod, executable for everyone, and prints where it is. DIR must exist: it is
the mount of a volume that the training container shares. A file that is there already is replaced as a whole.

In a pod:

  initContainers:
  - name: railhead
    image: RAILHEAD_IMAGE
    command: [/railhead-pod, install, /opt/railhead]
    volumeMounts: [{name: railhead, mountPath: /opt/railhead}]
  containers:
  - name: train
    command: [/opt/railhead/railhead-pod, run, --, torchrun, train.py]
    volumeMounts: [{name: railhead, mountPath: /opt/railhead}]
  volumes:
  - name: railhead
    emptyDir: {}

Exit status: 0 when it is there; 1 when it cannot be written; 2 for a wrong command line.`,
		Example: `  railhead-pod install /opt/railhead`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("install takes one folder: railhead-pod install DIR")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			at, err := launch.Install(args[0])
			if err != nil {
				return exitError{exitFault, err}
			}
			_, err = fmt.Fprintln(streams.Out, at)
			return err
		},
	}
}
