package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench/perftest"
)

// Output is the output of a process, stdout and stderr together, and how it ended.
type Output struct {
	Text string
	Code int
	Lost string // why its end was not seen; "": it was
}

// Reading is the result of a test: a rate, a latency, or why it has none.
type Reading struct {
	Rate   Gbps
	Micros float64
	Bytes  int64 // size of the message
	Failed string
}

// timedOut reports whether timeout(1) ended a process: with a code of its own, or by SIGKILL.
func (o Output) timedOut() bool {
	const byTimeout, killed = 124, 128 + 9
	return o.Code == byTimeout || o.Code == killed
}

// notFound is the exit code of a shell if there is no such program.
const notFound = 127

// Read joins the outputs of the two ends of a test. If the client could not reach its server, the output of the
// server shows why. Otherwise an error of the client is the cause of errors of the server.
func (t Test) Read(server, client Output) Reading {
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
		return Reading{Failed: string(t.Tool) + " not found"}
	case client.timedOut():
		return Reading{Failed: fmt.Sprintf("it hangs: no data within %s", t.Limit.Round(time.Second))}
	case Refused(client.Text):
		return Reading{Failed: "the client cannot reach the server's TCP port: a NetworkPolicy, a firewall, or no route"}
	}
	return Reading{Failed: err.Error()}
}

// Refused reports whether a client started before its server, and can try again. iperf3 (src/iperf_error.c) and Python
// (ConnectionRefusedError) print the error of the kernel.
func Refused(text string) bool {
	return strings.Contains(text, perftest.Refusal) || strings.Contains(text, "Connection refused")
}

// failure returns why the server did not serve, "" if it waited or served.
func (t Test) failure(server Output) string {
	failures := ParsePerftest(server.Text).Errors
	switch {
	case server.Lost != "":
		return "the server was lost: " + server.Lost
	case server.timedOut() || server.Code == 0:
		return ""
	case server.Code == notFound:
		return "the server has no " + string(t.Tool)
	case len(failures) > 0:
		return "the server did not start: " + strings.Join(failures, "; ")
	}
	return fmt.Sprintf("the server ended with exit code %d: %s", server.Code, lastLine(server.Text))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// measured reads the result from the output of a client.
func (t Test) measured(client Output) (Reading, error) {
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
