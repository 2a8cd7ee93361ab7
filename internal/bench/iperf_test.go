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
	if got, err := ParseIperf3([]byte(iperfRun)); err != nil || got != (TCPRun{9.364, 10.04, 12, 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	refused := `{"start": {}, "intervals": [], "end": {}, "error": "error - unable to connect to server: Connection refused"}`
	if got, err := ParseIperf3([]byte(refused)); err == nil || err.Error() != "error - unable to connect to server: Connection refused" {
		t.Errorf("nobody listens: %+v, %v", got, err)
	}
	if got, err := ParseIperf3([]byte(`{"start": {}, "end": {"sum_received": {"bits_per_second": 0}}}`)); !errors.Is(err, ErrNothingMoved) {
		t.Errorf("nothing moved: %+v, %v", got, err)
	}
	if got, err := ParseIperf3([]byte(iperfRun[:100])); err == nil {
		t.Errorf("cut: %+v", got)
	}
}

func FuzzParseIperf3(f *testing.F) {
	f.Add([]byte(iperfRun))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := ParseIperf3(text); err == nil && !(got.Received > 0) {
			t.Errorf("%+v", got)
		}
	})
}
