package podcli

import (
	"errors"
	"os"
	"slices"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/podrun"
)

func newDetach(Streams) *command {
	var note string
	var record bool
	c := newCommand("detach")
	c.arguments = "[flags] DIR NAME -- COMMAND [ARG...]"
	c.short = "Start a command that goes on without a terminal, for 'railhead launch --detach'"
	c.long = `detach starts COMMAND in a session of its own and returns. A process of railhead-pod records its output in
DIR, at most 32 MiB, and its exit code. 'railhead-pod follow DIR NAME' shows them.

Exit status: 0 if the command was started; 1 if not.`
	c.example = `  railhead-pod detach /dev/shm night -- railhead-pod run -- torchrun train.py`
	c.check = func(args []string) ([]string, error) {
		if len(args) < 3 {
			return nil, errors.New("detach takes a folder, a name and a command: " +
				"railhead-pod detach DIR NAME -- COMMAND")
		}
		return args, nil
	}
	c.run = func(args []string) error {
		d, argv := podrun.Detached{Dir: args[0], Name: args[1]}, args[2:]
		if argv[0] == "--" {
			argv = argv[1:]
		}
		err := error(nil)
		if record {
			err = d.Keep(argv, note)
		} else {
			err = d.Start(slices.Insert(slices.Clone(os.Args), 2, "--record"))
		}
		if err != nil {
			return exit.Failed(err)
		}
		return nil
	}
	c.flags.StringVar(&note, "note", "", "`text` to keep with the run")
	c.flags.BoolVar(&record, "record", false, "stay and record the output")
	_ = c.flags.MarkHidden("record") // the flag exists
	c.flags.SetInterspersed(false)
	return c
}

func newFollow(streams Streams) *command {
	var b podrun.Begin
	c := newCommand("follow")
	c.arguments = "DIR NAME"
	c.short = "Show the recorded output of a detached command until it ends"
	c.long = `follow writes the output of a command that detach started, each line with its time and stream, as in the
log files of container runtimes, and goes on until the command has ended. The last line is exit=CODE TIME, or
lost=REASON if the command ended without an exit code.

Exit status: 0 if the end was reached; 1 if the output cannot be read.`
	c.example = `  railhead-pod follow /dev/shm night --tail 20`
	c.check = func(args []string) ([]string, error) {
		if len(args) != 2 {
			return nil, errors.New("follow takes a folder and a name: railhead-pod follow DIR NAME")
		}
		return args, nil
	}
	c.run = func(args []string) error {
		if err := (podrun.Detached{Dir: args[0], Name: args[1]}).Follow(streams.Out, b); err != nil {
			return exit.Failed(err)
		}
		return nil
	}
	c.flags.Int64Var(&b.From, "from", -1, "begin at this `place`, from an earlier at= line; -1 for the start")
	c.flags.DurationVar(&b.Since, "since", 0, "begin with output of this age")
	c.flags.IntVar(&b.Tail, "tail", -1, "begin with this `number` of last lines; -1 for all")
	return c
}
