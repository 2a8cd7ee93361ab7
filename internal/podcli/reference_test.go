package podcli

import (
	"io"
	"testing"

	"github.com/railhead/railhead/tools/reference"
)

// TestReference asserts that docs/reference/railhead-pod has the help of every command.
func TestReference(t *testing.T) {
	const folder = "../../docs/reference/railhead-pod"
	all := reference.Command{
		Path:    program,
		Usage:   program + " COMMAND [flags]",
		Short:   "Find the pod's RDMA devices and start the training over them",
		Long:    about,
		Example: examples,
	}
	for _, row := range commandTable {
		c := row.build(Streams{Out: io.Discard, Err: io.Discard})
		all.Commands = append(all.Commands, reference.Command{
			Path:    program + " " + c.name,
			Usage:   c.usageLine(),
			Short:   c.short,
			Long:    c.long,
			Example: c.example,
			Flags:   c.flags,
		})
	}
	pages := reference.Pages(all)
	if *update {
		if err := reference.Write(folder, pages); err != nil {
			t.Fatal(err)
		}
	}
	if err := reference.Stale(folder, pages); err != nil {
		t.Errorf("%v\nrun go test ./internal/podcli -run TestReference -update", err)
	}
	if len(pages) != len(commandTable)+1 {
		t.Errorf("%d pages of %d commands", len(pages), len(commandTable))
	}
}
