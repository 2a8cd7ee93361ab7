package bench

import (
	"errors"
	"testing"
)

const iperfRun = `{
	"start": {"connected": [{"socket": 5}, {"socket": 7}], "version": "iperf 3.12"},
	"intervals": [],
	"end": {
		"sum_sent": {"seconds": 10.0, "bytes": 11763974144, "bits_per_second": 9410000000, "retransmits": 12, "sender": true},
		"sum_received": {"seconds": 10.04, "bytes": 11750000000, "bits_per_second": 9364000000, "sender": true}
	}
}`

func TestParseIperf3(t *testing.T) {
	if got, err := parseIperf3(iperfRun); err != nil || got != 9.364 {
		t.Errorf("%+v, %v", got, err)
	}
	refused := `{"start": {}, "intervals": [], "end": {}, "error": "error - unable to connect to server: Connection refused"}`
	if got, err := parseIperf3(refused); err == nil || err.Error() != "error - unable to connect to server: Connection refused" {
		t.Errorf("no program listens: %+v, %v", got, err)
	}
	if got, err := parseIperf3(`{"start": {}, "end": {"sum_received": {"bits_per_second": 0}}}`); !errors.Is(err, ErrNothingMoved) {
		t.Errorf("nothing moved: %+v, %v", got, err)
	}
	if got, err := parseIperf3(iperfRun[:100]); err == nil {
		t.Errorf("cut: %+v", got)
	}
}

func FuzzParseIperf3(f *testing.F) {
	f.Add(iperfRun)
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := parseIperf3(text); err == nil && !(got > 0) {
			t.Errorf("%+v", got)
		}
	})
}
