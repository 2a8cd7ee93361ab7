package cli

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/tools/reference"
)

// TestReference asserts that docs/reference/railhead has the help of every command.
func TestReference(t *testing.T) {
	const folder = "../../docs/reference/railhead"
	app := &app{version: "devel", flags: &kube.Flags{}}
	root := app.root("railhead")
	root.InitDefaultCompletionCmd()
	pages := reference.Pages(described(root))
	if *updateGenerated {
		if err := reference.Write(folder, pages); err != nil {
			t.Fatal(err)
		}
	}
	if err := reference.Stale(folder, pages); err != nil {
		t.Errorf("%v\nrun go test ./internal/cli -run TestReference -update", err)
	}
	if len(pages) < 30 {
		t.Errorf("%d pages", len(pages))
	}
}

// described returns a command and its commands as the reference shows them.
func described(c *cobra.Command) reference.Command {
	all := reference.Command{
		Path:    c.CommandPath(),
		Usage:   c.UseLine(),
		Short:   c.Short,
		Long:    c.Long,
		Example: c.Example,
		Flags:   pflag.NewFlagSet(c.Name(), pflag.ContinueOnError),
		Global:  pflag.NewFlagSet("global", pflag.ContinueOnError),
	}
	own, global := c.LocalFlags(), c.InheritedFlags()
	if !c.HasParent() {
		own, global = c.LocalNonPersistentFlags(), c.PersistentFlags()
	}
	own.VisitAll(all.Flags.AddFlag)
	global.VisitAll(all.Global.AddFlag)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			all.Commands = append(all.Commands, described(sub))
		}
	}
	if len(all.Commands) > 0 && !all.Flags.HasAvailableFlags() { // it only shows its help
		all.Usage = c.CommandPath() + " COMMAND"
	}
	return all
}
