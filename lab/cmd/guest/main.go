// Command guest is the first process of the lab's virtual machines, and their device plugin.
package main

import (
	"fmt"
	"os"

	"github.com/railhead/railhead/lab/guest/pid1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "init:", err)
		if os.Getpid() == 1 {
			pid1.Stay() // the kernel stops when its first process ends
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 0 && os.Getpid() == 1:
		return pid1.First()
	case len(args) == 1 && args[0] == pid1.Worker:
		pid1.Work()
	case len(args) == 1 && args[0] == pid1.Crashed:
		pid1.Tell()
	}
	return fmt.Errorf("unknown arguments %q", args)
}
