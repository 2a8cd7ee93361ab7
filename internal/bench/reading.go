package bench

import (
	"errors"
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
	Failed string
}

// timedOut reports whether timeout(1) ended a process: with a code of its own, or by SIGKILL.
func (o Output) timedOut() bool {
	const byTimeout, killed = 124, 128 + 9
	return o.Code == byTimeout || o.Code == killed
}

// notFound is the exit code of a shell if there is no such program.
const notFound = 127

// Read joins the outputs of the two ends of a test. If the client could not reach its server, or was left by it, the
// output of the server shows why. Otherwise an error of the client is the cause of errors of the server.
func (t Test) Read(server, client Output) Reading {
	r, err := t.measured(client)
	if err == nil && client.Lost == "" {
		return r
	}
	ended := t.failure(server)
	clientLeft, serverLeft := errors.Is(err, ErrInterrupted), errors.Is(ended, ErrInterrupted)
	waited := client.Lost != "" || client.timedOut() || Refused(client.Text) || clientLeft
	if waited && ended != nil && !serverLeft {
		return Reading{Failed: ended.Error()}
	}
	connecting := serverLeft && client.timedOut() || clientLeft && (serverLeft || server.timedOut())
	return Reading{Failed: t.clientFailure(client, connecting, err)}
}

// clientFailure returns why a client has no number. connecting means that the two ends still exchanged parameters.
func (t Test) clientFailure(client Output, connecting bool, err error) string {
	limit := t.Limit.Round(time.Second)
	switch {
	case client.Lost != "":
		return "the client was lost: " + client.Lost
	case client.Code == notFound:
		return string(t.Tool) + " not found"
	case connecting:
		return fmt.Sprintf("the test did not finish connecting within its limit of %s", limit)
	case client.timedOut():
		return fmt.Sprintf("it hangs: no data within %s", limit)
	case Refused(client.Text):
		return "the client cannot reach the server's TCP port: a NetworkPolicy, a firewall, or no route"
	}
	return err.Error()
}

// Refused reports whether a client started before its server, and can try again. iperf3 (src/iperf_error.c) and Python
// (ConnectionRefusedError) print the error of the kernel.
func Refused(text string) bool {
	return strings.Contains(text, perftest.Refusal) || strings.Contains(text, "Connection refused")
}

// failure returns why the server did not serve, nil if it waited or served.
func (t Test) failure(server Output) error {
	output := ParsePerftest(server.Text)
	switch {
	case server.Lost != "":
		return errors.New("the server was lost: " + server.Lost)
	case server.timedOut(), server.Code == 0:
		return nil
	case server.Code == notFound:
		return errors.New("the server has no " + string(t.Tool))
	case len(output.Errors) > 0:
		return errors.New("the server failed: " + strings.Join(output.Errors, "; "))
	case output.interrupted:
		return ErrInterrupted
	}
	return fmt.Errorf("the server ended with exit code %d: %s", server.Code, lastLine(server.Text))
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// measured reads the result from the output of a client.
func (t Test) measured(client Output) (r Reading, err error) {
	switch t.Tool {
	case Iperf3:
		r.Rate, err = parseIperf3(client.Text)
	case Python3:
		r.Rate, err = parseTCPLine(client.Text)
	case IBWriteLat:
		r.Micros, err = ParsePerftest(client.Text).Smallest()
	case IBWriteBW, PerftestCUDA, PerftestDMABUF, Torchrun, AllReducePerf, Mpirun, Timeout, Taskset:
		r.Rate, err = ParsePerftest(client.Text).Best()
	}
	return r, err
}
