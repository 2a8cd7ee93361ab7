// Exec-only becomes its arguments and does nothing else: what any wrapper written in Go costs at least, for tools/bench
// to compare railhead-pod with.
package main

import (
	"os"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	if err := syscall.Exec(os.Args[1], os.Args[1:], os.Environ()); err != nil {
		os.Exit(127)
	}
}
