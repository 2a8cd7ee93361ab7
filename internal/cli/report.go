package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/report/html"
)

// reportFlags are what is shown, and where.
type reportFlags struct {
	out   string
	serve string // address; "": no
	nodes bool
}

func (a *app) newReport() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [FILE... | NAME]",
		Short: "Show a bench, a diagnosis or a rollout as one page for a browser",
		Long: `report makes one page of what was found: the verdict first, then the topology of every machine, the bandwidth of every link, the
ladder against its ceilings, TCP beside RDMA, findings with their evidence and their fix, how far a rollout is, and the facts.
The page is one file, and asks nothing of any network.

FILE is what 'railhead bench --save' or 'railhead doctor --save' wrote, what 'railhead doctor -o json' or 'railhead-pod
snapshot' printed, or a recorded machine; several make one page. NAME is a job, which is looked at as 'railhead doctor' does;
without either it is the cluster.

--serve shows the page on this machine alone, and renews it in the browser: whenever a FILE changes, or the cluster does, until
Ctrl-C.

Exit status: 0 when the page was written, whatever it says; 1 when it could not be.`,
		Example: `  railhead report monday.json -o report.html
  railhead report h-kim.tgz monday.json -o report.html       diagnosis and bench on one page
  railhead report h-kim -n train -o report.html              the job as it is now
  railhead report h-kim -n train --serve                     while it comes up
  railhead report --serve                                    while a rollout goes on`,
		ValidArgsFunction: a.completeReport,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" && f.serve == "" {
				return errors.New("say where to: -o report.html, or --serve")
			}
			source, err := a.reportSource(cmd.Context(), args, f)
			if err != nil {
				return err
			}
			return a.report(cmd.Context(), source, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "file that the page is written to; - is stdout")
	flags.StringVar(&f.serve, "serve", "", "show the page at this address of this machine, and renew it")
	flags.Lookup("serve").NoOptDefVal = "127.0.0.1:0"
	flags.BoolVar(&f.nodes, "nodes", false, "of a job also the nodes that its pods are on; needs an administrator")
	_ = cmd.MarkFlagFilename("output", "html") // the flag exists
	return cmd
}

// completeReport completes files, and the names of jobs.
func (a *app) completeReport(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	names, _ := a.completeJobs(cmd, args, word)
	return names, cobra.ShellCompDirectiveDefault
}

// reportSource is where a page comes from.
type reportSource interface {
	// page is what is so now.
	page(ctx context.Context) (html.Page, error)
	// follow shows every later state until the context ends.
	follow(ctx context.Context, show func(html.Page)) error
}

// reportSource tells files from the name of a job.
func (a *app) reportSource(ctx context.Context, args []string, f reportFlags) (reportSource, error) {
	for _, arg := range args {
		_, err := os.Stat(arg)
		switch {
		case err == nil:
			return &files{names: args}, nil
		case !errors.Is(err, fs.ErrNotExist) || len(args) > 1 || filepath.Ext(arg) != "" || strings.ContainsRune(arg, filepath.Separator):
			return nil, fault(fmt.Errorf("read %s: %w", arg, bare(err)))
		}
	}
	subject := bundle.Subject{Cluster: true}
	if len(args) == 1 {
		subject = bundle.Subject{Job: args[0]}
	}
	look := doctorFlags{timeout: time.Minute, nodes: f.nodes}
	seen, err := a.examine(ctx, subject, look)
	if err != nil {
		var coded exitError
		if errors.As(err, &coded) {
			err = coded.err
		}
		return nil, fault(err)
	}
	return &watched{app: a, seen: bundle.Clean(seen)}, nil
}

// report writes the page, or serves it, or both: then the file has what was shown last.
func (a *app) report(ctx context.Context, source reportSource, f reportFlags) error {
	page, err := source.page(ctx)
	if f.serve != "" && errors.Is(err, errEmpty) {
		page, err = html.Waiting(err.Error()), nil
	}
	if err != nil {
		return fault(err)
	}
	if f.serve != "" {
		if page, err = a.serve(ctx, source, page, f.serve); err != nil {
			return fault(err)
		}
	}
	switch f.out {
	case "":
		return nil
	case "-":
		err = html.Write(a.streams.Out, page)
	default:
		err = writePage(f.out, page)
	}
	if err != nil {
		return fault(err)
	}
	if f.out != "-" {
		a.say("%s: %s", f.out, page.Verdict.Text)
	}
	return nil
}

func writePage(name string, page html.Page) error {
	return writeFile(name, func(w io.Writer) error { return html.Write(w, page) })
}
