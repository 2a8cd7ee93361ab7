// Pictures records the program in terminals and its pages in Chromium, for the documentation.
//
//	go run .                                     all pictures of docs/pictures/scenes.json
//	go run . explain-tcp report-topology         two of them
//	go run . -record NAME -title T COMMAND...    any command lines, such as those on a running lab
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

// root is the folder of the repository: the program runs in its own folder.
const root = "../.."

// folder has the pictures and the scenes.
var folder = filepath.Join(root, "docs/pictures")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("pictures", flag.ExitOnError)
	record := flags.String("record", "", "record the command lines of the arguments to the picture of this `name`")
	title := flags.String("title", "", "title of -record")
	if err := flags.Parse(args); err != nil {
		return err
	}
	path, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		return err
	}
	if err := os.Setenv("PATH", path+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	if *record != "" {
		return recording(ctx, *record, *title, flags.Args())
	}
	all, err := readScenes(filepath.Join(folder, "scenes.json"))
	if err != nil {
		return err
	}
	made, err := all.write(ctx, func(name string) bool {
		return flags.NArg() == 0 || slices.Contains(flags.Args(), name)
	})
	if err == nil && made < max(flags.NArg(), 1) {
		err = fmt.Errorf("%d pictures made: docs/pictures/scenes.json has no others of these names", made)
	}
	return err
}

// recording makes a picture of commands that are in no list of scenes.
func recording(ctx context.Context, name, title string, commands []string) error {
	if len(commands) == 0 {
		return errors.New("-record needs a command")
	}
	t := terminal{
		Name: name, Title: cmp.Or(title, commands[0]), Columns: 112, Rows: 36, Played: true, Live: true,
		Commands: commands,
	}
	return t.write(ctx)
}
