package podcli

import (
	"errors"
	"fmt"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/podrun"
)

func newInstall(streams Streams) *command {
	c := newCommand("install")
	c.arguments = "DIR"
	c.short = "Copy this program into a folder, for an init container without a shell"
	c.long = `install copies this program to DIR/railhead-pod, executable for everyone, and prints the path. DIR must
exist: mount a volume there that the training container shares. An existing file is replaced atomically.

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

Exit status: 0 if the program was copied; 1 if it could not be written; 2 for a wrong command line.`
	c.example = `  railhead-pod install /opt/railhead`
	c.check = func(args []string) ([]string, error) {
		if len(args) != 1 {
			return nil, errors.New("install takes one folder: railhead-pod install DIR")
		}
		return args, nil
	}
	c.run = func(args []string) error {
		at, err := podrun.Install(args[0])
		if err != nil {
			return exit.Failed(err)
		}
		_, err = fmt.Fprintln(streams.Out, at)
		return err
	}
	return c
}
