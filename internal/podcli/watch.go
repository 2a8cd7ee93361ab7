package podcli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/host"
)

// watchFlag adds --watch, whose time may be left out.
func watchFlag(cmd *cobra.Command, watch *time.Duration, usage string) {
	cmd.Flags().DurationVar(watch, "watch", 0, usage)
	cmd.Flags().Lookup("watch").NoOptDefVal = "10s"
}

// noArgumentsButPeriod takes the time behind --watch that was written without "=".
func noArgumentsButPeriod(cmd *cobra.Command, args []string) error {
	f := cmd.Flags().Lookup("watch")
	if len(args) > 0 && f.Changed && f.Value.String() == f.NoOptDefVal && f.Value.Set(args[0]) == nil {
		args = args[1:]
	}
	return noArguments(cmd, args)
}

// read takes a Snapshot, and with watch another one after that time, which has what the first one counted.
func (m *machine) read(here host.Machine, watch time.Duration) (host.Snapshot, error) {
	switch {
	case watch < 0:
		return host.Snapshot{}, errors.New("--watch must be more than 0")
	case watch > 0 && !here.Live:
		return host.Snapshot{}, fmt.Errorf("--watch: %s is a recording, and counts nothing more: watch where it was made", m.root)
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
