package podcli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/wire"
)

func newWire(streams Streams) *command {
	var m machine
	var watch bool
	var listen string
	every := time.Second
	format := "text"
	c := newCommand("wire")
	c.short = "Prove from the kernel whether running programs use RDMA, without their logs"
	c.long = `wire reads the queue pairs of all RDMA devices of this pod twice, and shows which process sent and
received how much over which device. It needs no privilege, no NCCL_DEBUG and no cooperation of the program. The
kernel does not show queue pairs of IBGDA, GIN and other users of DevX.

--watch continues until Ctrl-C, and then sums up all readings.

Exit status, of the last reading: 0 if packets moved over RDMA; 1 if none did; 3 if the kernel does not show the queue
pairs here, as under SELinux in a container, or if none did and NVLink may carry the data, by an IMEX channel; 2 for a
wrong command line.`
	c.example = `  railhead-pod wire
  railhead-pod wire --watch                  again every second, until Ctrl-C
  railhead-pod wire --every 10s -o json
  railhead-pod wire --listen :9440           serve /metrics to Prometheus
  railhead-pod wire --root moving.txtar      what 'snapshot --raw --watch 1s' recorded`
	c.run = func([]string) error {
		here, err := m.open()
		switch {
		case err != nil:
			return err
		case every < minInterval:
			return fmt.Errorf("--every must be at least %v: each reading asks the driver for every queue pair",
				minInterval)
		case listen != "" && (watch || c.flags.Changed("output")):
			return errors.New("--listen serves metrics and prints nothing: leave out --watch and -o")
		case !here.Live && (watch || listen != "" || c.flags.Changed("every")):
			return errors.New("--root: a recording has two readings at most: leave out --watch, --every and --listen")
		case !here.Live:
			return wireOf(here.Snapshot(), streams, format)
		case listen != "":
			return newMeter(here, every).serve(listen, streams)
		case watch:
			interrupted := make(chan os.Signal, 1)
			signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
			defer signal.Stop(interrupted)
			return newMeter(here, every).watch(interrupted, streams, format)
		}
		return newMeter(here, every).once(streams, format)
	}
	c.flags.BoolVarP(&watch, "watch", "w", false, "continue until Ctrl-C")
	c.flags.DurationVar(&every, "every", every, "time between two readings")
	c.flags.StringVar(&listen, "listen", "",
		"serve /metrics for Prometheus at this `address`, such as :9440, with the sums of all readings")
	outputFlag(c.flags, &format, "text", "json", "yaml", "prometheus")
	m.rootFlag(c.flags)
	return c
}

// wireOf judges the readings of a recording.
func wireOf(s host.Snapshot, streams Streams, format string) error {
	if format == "prometheus" {
		return errors.New("--root: a recording has no sums for -o prometheus: use another format")
	}
	motion := wire.Of(s)
	return errors.Join(writeMotion(streams, motion, format), exitOf(motion))
}

// minInterval bounds how often the driver is asked: mlx5 runs one firmware command for each queue pair.
const minInterval = 100 * time.Millisecond

func exitOf(m wire.Motion) error {
	switch m.Proof {
	case wire.RDMA:
		return nil
	case wire.NoTraffic, wire.NoConnection:
		if !m.MayUseNVLink {
			return exit.Error{Code: exit.Fault}
		}
	case wire.NotProved:
	}
	return exit.Error{Code: exit.Unknown}
}
