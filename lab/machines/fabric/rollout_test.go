package fabric

import (
	"math"
	"testing"
)

func TestDefaultMemlock(t *testing.T) {
	const (
		site = `{"path":"/etc/crio/crio.conf.d/50-site","contents":{"source":"data:,` +
			`%5Bcrio.runtime%5D%0Adefault_ulimits%20%3D%20%5B%22nofile%3D65536%3A65536%22%2C%22memlock%3D65536%3A65536%22%5D%0A"}}`
		rdma = `{"path":"/etc/crio/crio.conf.d/99-rdma","contents":{"source":"data:text/plain;charset=utf-8;base64,` +
			`W2NyaW8ucnVudGltZV0KZGVmYXVsdF91bGltaXRzID0gWyJtZW1sb2NrPS0xOi0xIl0K"}}`
		logs = `{"path":"/etc/crio/crio.conf.d/99-logs","contents":{"source":"data:,` +
			`%5Bcrio.runtime%5D%0Alog_level%20%3D%20%22debug%22%0A"}}`
	)
	for name, test := range map[string]struct {
		files string
		want  uint64
	}{
		"none":                        {"", 0},
		"one":                         {site, 65536},
		"the last one decides":        {rdma + "," + site, math.MaxUint64},
		"a later one without a limit": {site + "," + logs, 65536},
		"of something else":           {`{"path":"/etc/motd","contents":{"source":"data:,hello"}}`, 0},
	} {
		got, err := defaultMemlock([]byte(`{"ignition":{"version":"3.4.0"},"storage":{"files":[` + test.files + `]}}`))
		if err != nil || got != test.want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, test.want)
		}
	}
	if _, err := defaultMemlock([]byte(`{"storage":{"files":[{"path":"/etc/crio/crio.conf.d/x",` +
		`"contents":{"source":"data:,%5Bcrio"}}]}}`)); err == nil {
		t.Error("a file that is no TOML is read")
	}
}
