package podcli

import (
	"errors"
	"fmt"
	"time"

	"github.com/railhead/railhead/internal/report"
)

func newSnapshot(streams Streams) *command {
	var m machine
	var raw bool
	var watch time.Duration
	c := newCommand("snapshot")
	c.short = "Print everything known about this machine, as JSON or as a recording"
	c.long = `snapshot prints everything that railhead-pod knows about this machine or pod. With --raw it prints the
files it read as one text (txtar). Every command can read such a recording elsewhere: railhead-pod detect --root
RECORDING.

Only allow-listed environment variables are kept. Still, read a recording before you share it.

Exit status: 0 if a snapshot was printed, even of an unhealthy machine; 2 for a wrong command line; 3 if --root cannot
be read.`
	c.example = `  railhead-pod snapshot > pod.json
  railhead-pod snapshot --raw > pod.txtar
  railhead-pod detect --root pod.txtar`
	c.run = func([]string) error {
		here, err := m.open()
		if err != nil {
			return err
		}
		if raw && watch != 0 {
			return errors.New("--raw records a single reading and cannot be combined with --watch")
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
	}
	c.flags.BoolVar(&raw, "raw", false, "print the files that were read, to replay elsewhere")
	watchFlag(c, &watch, "read again after this time and include the earlier counters of the ports")
	m.rootFlag(c.flags)
	return c
}
