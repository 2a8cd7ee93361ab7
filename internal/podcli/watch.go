package podcli

import (
	"errors"
	"fmt"
	"time"

	"github.com/railhead/railhead/internal/host/sysfs"
)

// watchFlag adds --watch, whose time is optional.
func watchFlag(c *command, watch *time.Duration, usage string) {
	c.flags.DurationVar(watch, "watch", 0, usage)
	f := c.flags.Lookup("watch")
	f.NoOptDefVal = "10s"
	noArguments := c.check
	c.check = func(args []string) ([]string, error) {
		if len(args) > 0 && f.Changed && f.Value.String() == f.NoOptDefVal && f.Value.Set(args[0]) == nil {
			args = args[1:] // "--watch 30s": with an optional value, pflag only takes "--watch=30s"
		}
		return noArguments(args)
	}
}

// openWatched opens the machine. With watch its snapshots have the counters of that time before.
func (m *machine) openWatched(watch time.Duration) (sysfs.Machine, error) {
	here, err := m.open()
	switch {
	case err != nil:
		return here, err
	case watch < 0:
		return here, errors.New("--watch must be more than 0")
	case watch > 0 && !here.Live:
		return here, fmt.Errorf("--watch: the counters of the recording %s do not change: use it on the machine itself",
			m.root)
	case watch > 0:
		here.Probes.Earlier = here.Snapshot().Counted()
		<-time.After(watch)
	}
	return here, nil
}
