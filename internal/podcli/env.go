package podcli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/report"
)

func newEnv(streams Streams) *cobra.Command {
	var m machine
	var w wishes
	var explain bool
	format := "shell"
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the environment that run would set",
		Long: `env prints the variables that run would set, in a form for shells, container engines, programs or NCCL itself.

Exit status: 0 with variables; 1 when mode rdma finds no usable rail (nothing is printed then); 2 for a wrong command line.`,
		Example: `  eval "$(railhead-pod env)"                     in a shell that was exec'd into the pod
  railhead-pod env --explain                     each variable after its reason
  railhead-pod env -o nccl-conf > ~/.nccl.conf   for programs that drop the environment`,
		Args:    noArguments,
		PreRunE: fromEnvironment,
		RunE: func(*cobra.Command, []string) error {
			policy, err := w.policy()
			if err != nil {
				return err
			}
			here, err := m.open()
			if err != nil {
				return err
			}
			d := decide(here.Snapshot(), rail.Scope(m.scope), policy)
			if fatal := d.refusal(); policy.Mode == nccl.RDMA && len(fatal) > 0 {
				report.Findings(streams.Err, fatal, report.Full)
				return exitError{code: exitFault}
			}
			report.Findings(streams.Err, d.remarks(), report.Brief)
			sayFallback(streams.Err, d)
			text, err := nccl.Format(d.vars, format, explain)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(streams.Out, text)
			return err
		},
	}
	choiceFlag(cmd, &format, "output", "o", "form of the output", nccl.Formats...)
	cmd.Flags().BoolVar(&explain, "explain", false, "put each variable's reason before it, as a comment")
	w.flags(cmd)
	m.scopeFlag(cmd)
	m.rootFlag(cmd)
	return cmd
}
