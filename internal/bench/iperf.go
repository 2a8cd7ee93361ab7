package bench

import (
	"encoding/json"
	"errors"
	"fmt"
)

// TCPRun is a TCP measurement: the payload that the server received.
type TCPRun struct {
	Received    Gbps    `json:"gbps"`
	Seconds     float64 `json:"seconds"`
	Retransmits int64   `json:"retransmits"` // segments, of all streams
	Streams     int     `json:"streams"`
}

// iperfReport is a part of the JSON of `iperf3 -J` (esnet/iperf src/iperf_api.c, iperf_json_finish; since 3.0).
type iperfReport struct {
	Error string `json:"error"`
	Start struct {
		Connected []struct{} `json:"connected"`
	} `json:"start"`
	End struct {
		Sent struct {
			Retransmits int64 `json:"retransmits"`
		} `json:"sum_sent"`
		Received struct {
			Seconds       float64 `json:"seconds"`
			BitsPerSecond float64 `json:"bits_per_second"`
		} `json:"sum_received"`
	} `json:"end"`
}

// ParseIperf3 reads the JSON of a client. If iperf3 failed, the JSON holds its error.
func ParseIperf3(text []byte) (TCPRun, error) {
	var r iperfReport
	if err := json.Unmarshal(text, &r); err != nil {
		return TCPRun{}, fmt.Errorf("read iperf3's JSON: %w", err)
	}
	if r.Error != "" {
		return TCPRun{}, errors.New(r.Error)
	}
	if !(r.End.Received.BitsPerSecond > 0) {
		return TCPRun{}, ErrNothingMoved
	}
	return TCPRun{
		Gbps(r.End.Received.BitsPerSecond / giga), r.End.Received.Seconds, r.End.Sent.Retransmits, len(r.Start.Connected),
	}, nil
}
