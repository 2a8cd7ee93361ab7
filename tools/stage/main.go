//go:build linux

// Stage runs a command on a recorded machine: an archive of internal/host, or a captured folder, is laid over /sys,
// /dev, /proc, /etc and the network interfaces of namespaces that only the command lives in. It needs no root where
// unprivileged user namespaces are allowed; as root it stays in the initial user namespace, so that the capabilities
// of the command are real ones.
//
// Differences from the recorded machine:
//
//   - Device nodes, /dev/infiniband/* above all, are stand-ins: /dev/null under another name. They open, and that is
//     all. Where the recording says that opening gives EPERM or EACCES it gives EACCES (a bind mount with nodev), for
//     any other error ENXIO (a socket).
//   - A file whose reading failed ("! EINVAL" in the archive) is an empty file: no file system at hand gives EINVAL.
//   - /proc is the real one, and so are /proc/self and /proc/net, which shows the new network namespace. Other
//     recorded files are bound over those that /proc has, and all of /proc/driver is the recorded one.
//   - Outside /sys, /dev, /proc and /run the recorded files are laid over this machine's by overlayfs, so that
//     programs and libraries keep working; writes there stay in the stage. A recorded file of which only the
//     existence is known (an empty one) does not replace one of this machine.
//   - Interfaces are of kind dummy, ifb or bridge, with the recorded name, index and addresses; those without an
//     address are only in /sys.
//
// Files that could not be placed are listed on stderr.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `usage: stage [--keep-env] MACHINE.txtar|DIR -- COMMAND [ARG...]

Runs COMMAND on a recorded machine: its /sys, /dev, /proc/driver, configuration files, network interfaces and
environment. /run is an empty tmpfs. Without --keep-env COMMAND sees PATH, HOME, TERM and the recorded environment.

Device nodes are STAND-INS: /dev/null under another name, which opens and does nothing else. Files that could not
be read when they were recorded are empty.

Exit status: COMMAND's, or 128+n when signal n ended it; 2 usage, 77 namespaces or mounts are not permitted here,
125 the stage could not be set up, 126 COMMAND cannot be run, 127 COMMAND is not there.
`

// Exit statuses as of env(1) and timeout(1); test drivers take 77 for "skipped" (automake).
const (
	exitUsage        = 2
	exitNotPermitted = 77
	exitSetup        = 125
	exitCannotRun    = 126
	exitNotFound     = 127
)

func main() {
	if os.Args[0] == insideName {
		os.Exit(inside(os.Args[1:]))
	}
	os.Exit(outside(os.Args[1:]))
}

type options struct {
	keepEnv bool
	place   string // archive or folder
	command []string
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("stage", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&o.keepEnv, "keep-env", false, "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	rest := flags.Args()
	if len(rest) < 3 || rest[1] != "--" {
		return o, errors.New("expected MACHINE -- COMMAND")
	}
	o.place, o.command = rest[0], rest[2:]
	return o, nil
}

// complain prints one line and returns the status.
func complain(status int, err error) int {
	fmt.Fprintln(os.Stderr, "stage:", err)
	return status
}
