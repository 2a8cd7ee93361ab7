// Command railhead-pod stands in front of the training command in every pod.
package main

import (
	"os"

	"github.com/railhead/railhead/internal/podcli"
)

// version is set by the linker.
var version = "devel"

func main() {
	os.Exit(podcli.Main(os.Args[1:], version, podcli.Streams{Out: os.Stdout, Err: os.Stderr}))
}
