package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, help, want string }{
		{"code", "'railhead launch' reads NCCL_DEBUG=INFO, with --mode x, from /dev/shm.",
			"`railhead launch` reads `NCCL_DEBUG=INFO`, with `--mode` x, from `/dev/shm`."},
		{"apostrophes", "NCCL's log and the pods' queue pairs", "NCCL's log and the pods' queue pairs"},
		{"code over two lines", "of 'railhead doctor -o\njson', or", "of `railhead doctor -o\njson`, or"},
		{"characters of Markdown", "a <b> *c* [d]", `a \<b> \*c\* \[d]`},
		{"list", "It writes\n\n  - one,\n  - two.", "It writes\n\n- one,\n- two."},
		{"indented", "In a pod:\n\n  a:\n  - b", "In a pod:\n\n```text\na:\n- b\n```"},
		{"exit codes", "Exit status: 0.", "[Exit status](../../exit-codes.md): 0."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, text(c.help)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPages(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	flags.BoolP("help", "h", false, "help")
	flags.Int("qps", 4, "`number` of a|b")
	got := Pages(Command{Path: "tool", Usage: "tool COMMAND", Short: "Do", Commands: []Command{{
		Path:    "tool one two",
		Usage:   "tool one two NAME",
		Short:   "Do it",
		Long:    "one two does it.",
		Example: "  tool one two a      explained\n  tool one two b",
		Flags:   flags,
	}}})
	want := map[string]string{
		"README.md": "# tool\n\nDo.\n\n```text\ntool COMMAND\n```\n\n## Commands\n\n| command | purpose |\n|---|---|\n" +
			"| [tool one two](one-two.md) | Do it |\n\n[Exit status](../../exit-codes.md): as for all commands.\n",
		"one-two.md": "# tool one two\n\nDo it.\n\n```text\ntool one two NAME\n```\n\n`one two` does it.\n\n## Examples\n\n" +
			"```sh\ntool one two a     # explained\ntool one two b\n```\n\n## Flags\n\n| flag | meaning |\n|---|---|\n" +
			"| `--qps number` | number of a\\|b (default 4) |\n\n[Exit status](../../exit-codes.md): as for all commands.\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStale(t *testing.T) {
	folder := t.TempDir()
	pages := map[string]string{"README.md": "a", "b.md": "b", "c.md": "c"}
	if err := Write(folder, pages); err != nil {
		t.Fatal(err)
	}
	if err := Stale(folder, pages); err != nil {
		t.Error(err)
	}
	err := Stale(folder, map[string]string{"README.md": "a", "b.md": "other", "d.md": "d"})
	for _, want := range []string{"b.md differs", "c.md belongs to no command", "d.md is missing"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}
