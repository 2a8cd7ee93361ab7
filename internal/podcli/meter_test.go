package podcli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/wire"
)

// sending is a reading of a process that sends 1,000 packets a second.
func sending(now time.Time) host.Wire {
	q := host.QueuePair{
		Number: 17, Remote: host.Know(uint32(42)), Type: host.TypeRC, State: host.StateRTS,
		SendPSN: uint32(now.Unix()*1000) & (1<<24 - 1), PID: host.Know(71), Program: "python",
	}
	return host.Wire{Taken: now, Devices: []host.WireDevice{
		{Name: "mlx5_6", Taken: now, QueuePairs: host.Know([]host.QueuePair{q})},
	}}
}

// TestMeter reads a recorded pod whose queue pair sends 1,000 packets a second: sums grow with the readings, and
// looking at them takes no reading.
func TestMeter(t *testing.T) {
	machine, err := sysfs.Open("../../testdata/hosts/pod-roce-4vf.txtar")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		machine.Probes.Now = time.Now
		machine.Probes.Wire = func() (host.Wire, error) {
			asked.Add(1)
			return sending(time.Now()), nil
		}
		m := newMeter(machine, time.Second)
		for range 90 { // more than one refresh
			<-time.After(time.Second)
			if motion := m.read(); motion.Proof != wire.RDMA {
				t.Fatalf("%+v", motion)
			}
		}
		for range 10 {
			// the rails have an MTU of 9000, so RDMA sends 4096 bytes in a packet
			want := `railhead_wire_sent_bytes_total{device="mlx5_6",program="python"} 368640000` + "\n"
			if page := string(m.page()); !strings.Contains(page, want) {
				t.Fatalf("no %s in:\n%s", want, page)
			}
		}
		if n := asked.Load(); n != 91 {
			t.Errorf("the driver was asked %d times", n)
		}
	})
}

// TestWatch: Ctrl-C sums up the readings of --watch, and the exit code is that of the last one.
func TestWatch(t *testing.T) {
	machine, err := sysfs.Open("../../testdata/hosts/pod-roce-4vf.txtar")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		machine.Probes.Now = time.Now
		machine.Probes.Wire = func() (host.Wire, error) { return sending(time.Now()), nil }
		for want, after := range map[string]time.Duration{
			"3 readings in 3s: RDMA in 3\n": 3400 * time.Millisecond,
			"":                              500 * time.Millisecond,
		} {
			var said bytes.Buffer
			interrupted := make(chan os.Signal, 1)
			time.AfterFunc(after, func() { interrupted <- os.Interrupt })
			err := newMeter(machine, time.Second).watch(interrupted, Streams{Out: io.Discard, Err: &said}, "text")
			if said.String() != want {
				t.Errorf("said %q, want %q", said.String(), want)
			}
			if code := (exit.Error{}); errors.As(err, &code) != (want == "") || want == "" && code.Code != exit.Interrupted {
				t.Errorf("after %v: %v", after, err)
			}
		}
	})
}

// TestWireOfRecording: a recording with two readings is judged, and one with a single reading proves nothing.
func TestWireOfRecording(t *testing.T) {
	machine, err := sysfs.Open("../../testdata/hosts/pod-roce-4vf.txtar")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	machine.Probes.Now = func() time.Time { return now }
	machine.Probes.Wire = func() (host.Wire, error) { return sending(now), nil }
	once := recorded(t, machine)
	machine.Probes.Earlier = machine.Snapshot().Counted()
	now = now.Add(time.Second)
	twice := recorded(t, machine)
	for _, c := range []struct {
		file, says string
		code       exit.Code
		more       []string
	}{
		{twice, "RDMA: 1 process on 1 device, 4.1 MB/s sent", exit.OK, nil},
		{once, "they were not read twice", exit.Unknown, nil},
		{twice, "a recording has two readings at most", exit.Usage, []string{"--watch"}},
		{twice, "a recording has no sums", exit.Usage, []string{"-o", "prometheus"}},
	} {
		var out bytes.Buffer
		code := Main(append([]string{"wire", "--root", c.file}, c.more...), "test", Streams{Out: &out, Err: &out})
		if code != int(c.code) || !strings.Contains(out.String(), c.says) {
			t.Errorf("exit code %d:\n%s", code, out.String())
		}
	}
}

// recorded writes the recording of a machine to a file.
func recorded(t *testing.T, m sysfs.Machine) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "recording.txtar")
	_, archive := m.Record()
	if err := os.WriteFile(file, []byte(archive.Format()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
