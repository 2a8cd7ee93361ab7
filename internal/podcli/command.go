package podcli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/words"
)

const program = "railhead-pod"

// command is one command of railhead-pod.
type command struct {
	name, arguments      string // "install" and "DIR"
	short, long, example string
	flags                *pflag.FlagSet
	help                 bool // --help was given
	check                func(args []string) ([]string, error)
	run                  func(args []string) error
}

// commandTable lists the commands in the order of the help. Only the command that is called is built, to start fast.
var commandTable = []struct {
	name  string
	build func(Streams) *command
}{
	{"run", newRun},
	{"detect", newDetect},
	{"env", newEnv},
	{"check", newCheck},
	{"doctor", newDoctor},
	{"wire", newWire},
	{"snapshot", newSnapshot},
	{"install", newInstall},
	{"detach", newDetach},
	{"follow", newFollow},
}

func newCommand(name string) *command {
	c := &command{name: name, flags: pflag.NewFlagSet(name, pflag.ContinueOnError)}
	c.flags.BoolVarP(&c.help, "help", "h", false, "show this help")
	c.check = func(args []string) ([]string, error) {
		if len(args) > 0 {
			return nil, fmt.Errorf("%s takes no arguments: %q", name, args[0])
		}
		return nil, nil
	}
	return c
}

func find(name string, streams Streams) (*command, error) {
	var names []string
	for _, c := range commandTable {
		if c.name == name {
			return c.build(streams), nil
		}
		names = append(names, c.name)
	}
	if strings.HasPrefix(name, "-") {
		return nil, fmt.Errorf("unknown flag: %s", name)
	}
	return nil, fmt.Errorf("unknown command %q for %q%s", name, program, didYouMean(name, names))
}

func (c *command) parse(args []string) ([]string, error) {
	err := c.flags.Parse(args)
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		c.flags.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return nil, fmt.Errorf("%w%s", err, didYouMean("--"+unknown.GetSpecifiedName(), names))
	}
	if err != nil || c.help {
		return nil, err
	}
	return c.check(c.flags.Args())
}

func (c *command) usage() string {
	return fmt.Sprintf("%s\n\nUsage:\n  %s\n\nExamples:\n%s\n\nFlags:\n%s",
		c.long, c.usageLine(), c.example, c.flags.FlagUsages())
}

// usageLine returns the command with its arguments, as "railhead-pod install DIR [flags]".
func (c *command) usageLine() string {
	line := strings.TrimSpace(program + " " + c.name + " " + c.arguments)
	if strings.Contains(c.arguments, "[flags]") {
		return line
	}
	return line + " [flags]"
}

// The help of the program itself.
const (
	about = `railhead-pod finds the RDMA devices (InfiniBand or RoCE, virtual functions or whole HCAs) that this pod
owns, derives NCCL's environment from them, raises the locked-memory limit and starts the training command.`

	examples = `  railhead-pod run -- torchrun --nnodes 2 train.py     start training over RDMA, or explain why not
  railhead-pod detect                                  show this pod's rails
  railhead-pod doctor                                  find what keeps RDMA from working, and the fix
  eval "$(railhead-pod env)"                           the same environment in your shell`
)

func writeHelp(streams Streams) error {
	var list strings.Builder
	for _, c := range commandTable {
		fmt.Fprintf(&list, "  %-10s  %s\n", c.name, c.build(streams).short)
	}
	_, err := fmt.Fprintf(streams.Out, `%s

Usage:
  railhead-pod COMMAND [flags]

Examples:
%s

Available Commands:
%s
Flags:
  -h, --help      show this help
  -v, --version   show the version

Use "railhead-pod COMMAND --help" for more about a command.
`, about, examples, list.String())
	return err
}

// didYouMean suggests names for a mistyped or unfinished one.
func didYouMean(typed string, names []string) string {
	near := words.Nearest(typed, names)
	for _, name := range names {
		if len(typed) > len("--") && strings.HasPrefix(name, typed) && !slices.Contains(near, name) {
			near = append(near, name)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "\n\nDid you mean this?\n\t" + strings.Join(near, "\n\t") + "\n"
}
