// Package podcli has the commands of railhead-pod, the program that starts the training command in a pod.
package podcli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/railhead/railhead/internal/exit"
)

// Streams of a command: data goes to Out, everything else to Err.
type Streams struct{ Out, Err io.Writer }

// Main runs one command line and returns the exit code. A run that starts its command does not return.
func Main(args []string, version string, streams Streams) int {
	path, err := execute(args, version, streams)
	if err == nil {
		return int(exit.OK)
	}
	code, text := exit.Usage, fmt.Sprintf("%v\nTry '%s --help'.", err, path)
	if path == program+" run" {
		code = exit.Refused // Usage might be taken for the command's own code
	}
	var coded exit.Error
	var unwritten *fs.PathError
	switch {
	case errors.As(err, &coded):
		code, text = coded.Code, coded.Error()
	case errors.As(err, &unwritten): // the disk is full, for example
		code, text = exit.Fault, err.Error()
	}
	if coded.Code == 0 || coded.Err != nil {
		fmt.Fprintf(streams.Err, "%s: %s\n", program, text)
	}
	return int(code)
}

// execute runs the command that args name. path is how the user called it, for the error.
func execute(args []string, version string, streams Streams) (path string, err error) {
	for len(args) > 0 && (args[0] == "help" || args[0] == "--help" || args[0] == "-h") {
		args = append(args[1:], "--help")
		if len(args) == 1 || args[0] == "--help" {
			return program, writeHelp(streams)
		}
	}
	switch {
	case len(args) == 0:
		return program, writeHelp(streams)
	case args[0] == "--version" || args[0] == "-v":
		_, err = fmt.Fprintf(streams.Out, "%s version %s\n", program, version)
		return program, err
	}
	c, err := find(args[0], streams)
	if err != nil {
		return program, err
	}
	path = program + " " + c.name
	args, err = c.parse(args[1:])
	switch {
	case err != nil:
		return path, err
	case c.help:
		_, err = io.WriteString(streams.Out, c.usage())
		return path, err
	}
	if err = setFromEnvironment(c.flags); err == nil {
		err = c.run(args)
	}
	return path, err
}
