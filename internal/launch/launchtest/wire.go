package launchtest

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/host"
)

// Moving returns two readings, a second apart, of a device with one queue pair of a process that sent packets between
// them. The first packet is number 100.
func Moving(
	taken time.Time, device string, number, remote uint32, pid int, packets uint32,
) (then, now host.Fact[host.Wire]) {
	reading := func(at time.Time, sent uint32) host.Fact[host.Wire] {
		return host.Know(host.Wire{Taken: at, Devices: []host.WireDevice{{
			Name: device, Taken: at, QueuePairs: host.Know([]host.QueuePair{{
				Number: number, Remote: host.Know(remote), Type: host.TypeRC, State: host.StateRTS,
				PID: host.Know(pid), SendPSN: sent, RecvPSN: host.Know(sent),
			}}),
		}}})
	}
	return reading(taken, 100), reading(taken.Add(time.Second), 100+packets)
}

// WriteJSON writes a value into a file of a pod.
func WriteJSON(t *testing.T, file string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
