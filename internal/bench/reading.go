package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench/perftest"
)

// Said is what a process wrote, stdout and stderr together, and how it ended.
type Said struct {
	Text string
	Code int
	Lost string // why it was not seen to its end; "": it was
}

// Reading is what a test says of its link: a rate, a latency, or why it has none.
type Reading struct {
	Rate   Gbps
	Micros float64
	Bytes  int64 // of the message that it was reached with
	Failed string
}

// timedOut reports whether timeout(1) ended a process: with a code of its own, or by SIGKILL.
func (s Said) timedOut() bool {
	const byTimeout, killed = 124, 128 + 9
	return s.Code == byTimeout || s.Code == killed
}

// notFound is a shell's exit code where a program is not there.
const notFound = 127

// Read joins what the two ends of a test said. A client that does not reach its server says little: the server knows why. What a
// client complains of itself is the cause of what its server says.
func (t Test) Read(server, client Said) Reading {
	r, err := t.measured(client)
	if err == nil && client.Lost == "" {
		return r
	}
	waited := client.Lost != "" || client.timedOut() || Refused(client.Text)
	if why := t.failure(server); waited && why != "" {
		return Reading{Failed: why}
	}
	switch {
	case client.Lost != "":
		return Reading{Failed: "the client was lost: " + client.Lost}
	case client.Code == notFound:
		return Reading{Failed: string(t.Tool) + " is not found"}
	case client.timedOut():
		return Reading{Failed: fmt.Sprintf("it hangs: nothing came through within %s", t.Limit.Round(time.Second))}
	case Refused(client.Text):
		return Reading{Failed: "the client does not reach the server's port by TCP: a NetworkPolicy, a firewall, or no route"}
	}
	return Reading{Failed: err.Error()}
}

// refusals are how the tools say that nobody listens yet: iperf3 src/iperf_error.c, Python's ConnectionRefusedError.
var refusals = []string{perftest.Refusal, "Connection refused"}

// Refused reports whether a client came before its server: it may try again.
func Refused(text string) bool {
	for _, words := range refusals {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// failure is why the server did not serve; "" when it waited, or served.
func (t Test) failure(server Said) string {
	complaints := ParsePerftest(server.Text).Errors
	switch {
	case server.Lost != "":
		return "the server was lost: " + server.Lost
	case server.timedOut() || server.Code == 0:
		return ""
	case server.Code == notFound:
		return "the server has no " + string(t.Tool)
	case len(complaints) > 0:
		return "the server did not start: " + strings.Join(complaints, "; ")
	}
	return fmt.Sprintf("the server ended with exit code %d: %s", server.Code, lastLine(server.Text))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// measured reads the number that a client printed.
func (t Test) measured(client Said) (Reading, error) {
	switch t.Tool {
	case Iperf3:
		run, err := ParseIperf3([]byte(client.Text))
		return Reading{Rate: run.Received}, err
	case Python3:
		run, ok := ParseTCPLine(client.Text)
		if !ok {
			return Reading{}, fmt.Errorf("%w: %s", ErrNoTable, lastLine(client.Text))
		}
		return Reading{Rate: run.Received}, nil
	case IBWriteLat:
		row, err := ParsePerftest(client.Text).Smallest()
		return Reading{Micros: row.Typical.Or(row.Average), Bytes: row.Bytes}, err
	case IBWriteBW, PerftestCUDA, PerftestDMABUF, Torchrun, AllReducePerf, Mpirun, Timeout, Taskset:
	}
	row, err := ParsePerftest(client.Text).Best()
	return Reading{Rate: row.Average, Bytes: row.Bytes}, err
}
