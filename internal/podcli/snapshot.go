package podcli

import (
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
  railhead-pod snapshot --raw --watch 1s > moving.txtar     also what moves in a second
  railhead-pod detect --root pod.txtar`
	c.run = func([]string) error {
		here, err := m.openWatched(watch)
		if err != nil {
			return err
		}
		if raw {
			_, archive := here.Record()
			_, err = fmt.Fprint(streams.Out, archive.Format())
			return err
		}
		return report.Encode(streams.Out, "json", here.Snapshot())
	}
	c.flags.BoolVar(&raw, "raw", false, "print the files that were read, to replay elsewhere")
	watchFlag(c, &watch, "read again after this time and include the earlier counters of ports and queue pairs")
	m.rootFlag(c.flags)
	return c
}
