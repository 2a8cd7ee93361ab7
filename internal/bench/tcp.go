package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// parseIperf3 returns the rate that the server received, from the JSON of a client. If iperf3 failed, the JSON holds
// its error (esnet/iperf src/iperf_api.c, iperf_json_finish; since 3.0).
func parseIperf3(text string) (Gbps, error) {
	var report struct {
		Error string `json:"error"`
		End   struct {
			Received struct {
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		return 0, fmt.Errorf("read iperf3's JSON: %w", err)
	}
	if report.Error != "" {
		return 0, errors.New(report.Error)
	}
	if !(report.End.Received.BitsPerSecond > 0) {
		return 0, ErrNothingMoved
	}
	return Gbps(report.End.Received.BitsPerSecond / giga), nil
}

// parseTCPLine reads the line of tcp.py, which counts the bytes that the server received:
//
//	[tcp] bytes=11763974144 seconds=5.000312 streams=4
func parseTCPLine(text string) (Gbps, error) {
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(line, "[tcp] ")
		var bytes, seconds float64
		_, err := fmt.Sscanf(rest, "bytes=%f seconds=%f streams=", &bytes, &seconds)
		if err == nil && bytes > 0 && seconds > 0 {
			return Gbps(bytes * bitsPerByte / seconds / giga), nil
		}
	}
	return 0, fmt.Errorf("%w: %s", ErrNoTable, lastLine(text))
}
