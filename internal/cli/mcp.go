package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/mcp"
)

func newMCP(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Let an assistant use the commands that change nothing",
		Long: `mcp speaks the Model Context Protocol on standard input and output. It offers inventory, status, doctor,
wire, explain and explain-check as tools, with the rights of the kubeconfig. No tool changes the cluster: those that
would are not offered, and nodes, which need a privileged pod, are refused. As on the command line, doctor and wire run
railhead-pod in the pods that they examine.`,
		Example: `  railhead mcp --context prod             what an assistant starts

  {"mcpServers": {"railhead": {"command": "railhead", "args": ["mcp", "--context", "prod"]}}}`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.TTY {
				a.say("Waiting for an assistant on standard input. Ctrl-C ends.")
			}
			global := globalFlags(cmd.InheritedFlags())
			run := func(ctx context.Context, args ...string) mcp.Result {
				var out, errs bytes.Buffer
				streams := Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: a.Width}
				code := Main(ctx, "railhead", append(args, global...), a.version, streams)
				return mcp.Result{Out: out.String(), Err: errs.String(), Code: exit.Code(code)}
			}
			transport := &sdk.IOTransport{Reader: io.NopCloser(a.In), Writer: unclosed{a.Out}}
			err := mcp.Serve(cmd.Context(), transport, a.version, run)
			if err == nil || errors.Is(err, io.EOF) {
				return nil
			}
			return exit.Failed(err)
		},
	}
}

// unclosed keeps the standard output open when the assistant has gone.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// globalFlags returns the flags that the command line sets for all commands.
func globalFlags(flags *pflag.FlagSet) (args []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}
