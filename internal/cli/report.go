package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/report/html"
	"github.com/railhead/railhead/internal/saved"
	"github.com/railhead/railhead/internal/serve"
	"github.com/railhead/railhead/internal/workload"
)

// reportFlags are the flags of report.
type reportFlags struct {
	out   string
	serve string // address
	nodes bool
}

func newReport(a *app) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [FILE... | [KIND/]NAME]",
		Short: "Show a bench, a diagnosis or a rollout as a page for a browser",
		Long: `report writes one page: the result, the topology of every machine, the bandwidth of every link, the
ladder with its ceilings, TCP against RDMA, what each rail carries over time, the findings with their evidence and fix,
the progress of a rollout, and the facts. The page is a single file that loads nothing from any network.

FILE is the output of 'railhead bench --save', 'railhead wire --save', 'railhead doctor --save', 'railhead doctor -o
json' or 'railhead-pod snapshot', or a recorded machine. Several files make one page. NAME is a job, which report
examines as 'railhead doctor' does. Without arguments, report examines the cluster.

--serve shows the page on this machine only, and updates it when a FILE or the cluster changes, until Ctrl-C.

Exit status: 0 if the page was written, whatever it shows; 1 if it could not be written; 2 if the command line is
wrong; 3 if a file or the cluster could not be read.`,
		Example: `  railhead report monday.json -o report.html
  railhead report h-kim.tgz monday.json -o report.html       diagnosis and bench on one page
  railhead report h-kim -n train -o report.html              the job as it is now
  railhead report h-kim -n train --serve                     while it starts
  railhead report --serve                                    during a rollout`,
		ValidArgsFunction: a.completeReport,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" && f.serve == "" {
				return errors.New("use -o report.html to write the page, or --serve to show it")
			}
			if f.serve != "" {
				if err := serve.CheckAddress(f.serve); err != nil {
					return err
				}
			}
			source, err := a.reportSource(cmd.Context(), args, f)
			if err != nil {
				return err
			}
			return a.report(cmd.Context(), source, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "write the page to this `file`; - for standard output")
	flags.StringVar(&f.serve, "serve", "", "show the page at this local `address`, and update it")
	flags.Lookup("serve").NoOptDefVal = "127.0.0.1:0"
	flags.BoolVar(&f.nodes, "nodes", false, "for a job: also examine the nodes of its pods; needs an administrator")
	_ = cmd.MarkFlagFilename("output", "html") // the flag exists
	return cmd
}

// reportSource distinguishes files from the name of a job.
func (a *app) reportSource(ctx context.Context, args []string, f reportFlags) (serve.Source, error) {
	for _, arg := range args {
		_, err := os.Stat(arg)
		if err == nil {
			return &serve.Files{Names: args}, nil
		}
		ref, notJob := workload.ParseRef(arg)
		isJob := notJob == nil && ref.Known()
		if len(args) > 1 || !isJob || filepath.Ext(arg) != "" || !errors.Is(err, fs.ErrNotExist) {
			return nil, unknown(fmt.Errorf("read %s: %w", arg, cmp.Or(errors.Unwrap(err), err)))
		}
	}
	o := collect.Options{Subject: workload.Subject{Cluster: true}, Timeout: time.Minute, Nodes: f.nodes}
	if len(args) == 1 {
		ref, _ := workload.ParseRef(args[0]) // it was read above
		o.Subject = workload.Subject{Kind: ref.Kind, Job: ref.Name}
	}
	seen, err := a.examine(ctx, doctorFlags{options: o})
	if err != nil {
		return nil, err
	}
	connect := func(ctx context.Context) (serve.Watcher, error) {
		client, _, err := a.connect(ctx)
		return client, err
	}
	return serve.Watched{Seen: bundle.Clean(seen), Connect: connect, Say: a.sayLine}, nil
}

// report writes the page, or serves it, or both: then the file has the page that was shown last.
func (a *app) report(ctx context.Context, source serve.Source, f reportFlags) error {
	page, err := source.Page(ctx)
	if f.serve != "" && errors.Is(err, saved.ErrEmpty) {
		page, err = html.Waiting(err.Error()), nil
	}
	if err != nil {
		return unknown(err)
	}
	if f.serve != "" {
		if page, err = serve.Serve(ctx, source, page, f.serve, a.say); err != nil {
			return exit.Failed(err)
		}
	}
	switch f.out {
	case "":
		return nil
	case "-":
		err = html.Write(a.Out, page)
	default:
		err = writePage(f.out, page)
	}
	if err != nil {
		return exit.Failed(err)
	}
	if f.out != "-" {
		a.say("%s: %s", f.out, page.Verdict.Text)
	}
	return nil
}

func writePage(name string, page html.Page) error {
	return writeFile(name, func(w io.Writer) error { return html.Write(w, page) })
}
