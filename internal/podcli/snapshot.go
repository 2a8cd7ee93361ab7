package podcli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/report"
)

func newSnapshot(streams Streams) *cobra.Command {
	var m machine
	var raw bool
	var watch time.Duration
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Print everything that is known about this machine, as JSON or as a recording",
		Long: `snapshot prints what railhead-pod knows about this machine or pod. With --raw it prints the files that it was read from as
one text (txtar), from which every command works again elsewhere: railhead-pod detect --root RECORDING.

Only allow-listed environment variables are kept; read a recording over before you send it on all the same.`,
		Example: `  railhead-pod snapshot > pod.json
  railhead-pod snapshot --raw > pod.txtar
  railhead-pod detect --root pod.txtar`,
		Args:    noArgumentsButPeriod,
		PreRunE: fromEnvironment,
		RunE: func(*cobra.Command, []string) error {
			here, err := m.open()
			if err != nil {
				return err
			}
			if raw && watch != 0 {
				return errors.New("--raw records one reading: leave --watch out")
			}
			if raw {
				_, archive := here.Record()
				_, err = fmt.Fprint(streams.Out, archive.Format())
				return err
			}
			s, err := m.read(here, watch)
			if err != nil {
				return err
			}
			return report.Encode(streams.Out, "json", s)
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the recorded files instead, for replay elsewhere")
	watchFlag(cmd, &watch, "read again after this time, and add what the ports had counted before")
	m.rootFlag(cmd)
	return cmd
}
