package podcli

import (
	"errors"
	"fmt"
	"time"

	"github.com/railhead/railhead/internal/host"
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

// read takes a snapshot. With watch it takes another one after that time, with the counters of the first.
func (m *machine) read(here sysfs.Machine, watch time.Duration) (host.Snapshot, error) {
	switch {
	case watch < 0:
		return host.Snapshot{}, errors.New("--watch must be more than 0")
	case watch > 0 && !here.Live:
		return host.Snapshot{}, fmt.Errorf("--watch: the counters of the recording %s do not change: use it on the "+
			"machine itself",
			m.root)
	}
	s := here.Snapshot()
	if watch > 0 {
		<-time.After(watch)
		earlier := s.Counted()
		s = here.Snapshot()
		s.Earlier = earlier
	}
	return s, nil
}
