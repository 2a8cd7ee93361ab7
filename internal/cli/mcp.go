package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/docs"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/mcp"
)

func newMCP(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Let an assistant use the commands that change nothing",
		Long: `mcp speaks the Model Context Protocol on standard input and output. It offers inventory, status, doctor,
wire, explain and explain-check as tools, with the rights of the kubeconfig. No tool changes the cluster: those that
would are not offered, and nodes, which need a privileged pod, are refused. As on the command line, doctor and wire
run railhead-pod in the pods that they examine. Into a pod that has none they copy it, and remove the copy when they
have read the pod. A tool whose input names no namespace takes that of -n.`,
		Example: `  railhead mcp --context prod             what an assistant starts

  {"mcpServers": {"railhead": {"command": "railhead", "args": ["mcp", "--context", "prod"]}}}`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.TTY {
				a.say("Waiting for an assistant on standard input. Ctrl-C ends.")
			}
			transport := &sdk.IOTransport{Reader: io.NopCloser(a.In), Writer: unclosed{a.Out}}
			err := mcp.Serve(cmd.Context(), transport, a.forAssistants(cmd.InheritedFlags()))
			switch {
			case cmd.Context().Err() != nil:
				return cmd.Context().Err()
			case err == nil || errors.Is(err, io.EOF):
				return nil
			}
			return exit.Failed(fmt.Errorf("standard input: %w", err))
		},
	}
}

// forAssistants returns what the tools use, with the cluster of the command line.
func (a *app) forAssistants(flags *pflag.FlagSet) mcp.Program {
	global := globalFlags(flags)
	namespace, explicit, err := a.flags.Namespace()
	if err != nil || !explicit {
		namespace = ""
	}
	return mcp.Program{
		Version:   a.version,
		Namespace: namespace,
		Run: func(ctx context.Context, args ...string) mcp.Result {
			var out, errs bytes.Buffer
			streams := Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: a.Width}
			code := Main(ctx, "railhead", slices.Concat(global, args), a.version, streams)
			return mcp.Result{Out: out.String(), Err: errs.String(), Code: exit.Code(code)}
		},
		Schema:   toolSchema,
		CheckLog: checkLog,
	}
}

// toolSchema returns the published schema of a command's output; nil if the command prints text.
func toolSchema(command string) json.RawMessage {
	schema, err := docs.Schema("railhead-" + command)
	if err != nil { // the schemas are in the program
		return nil
	}
	return schema
}

// checkLog refuses devices and pipes: reading them might never end, and /dev/stdin belongs to the assistant.
func checkLog(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("%s is neither a file nor a folder", name)
	}
	return err
}

// unclosed keeps the standard output open when the assistant has gone.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// globalFlags returns the flags that the command line sets for all commands, without the namespace: a tool has its own,
// and explain takes files for jobs with one.
func globalFlags(flags *pflag.FlagSet) (args []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || f.Name == "namespace" {
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
