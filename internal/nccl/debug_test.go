package nccl

import "testing"

// The answers are those of ncclDebugInit in src/debug.cc of NCCL 2.28.9.
func TestLogsNothing(t *testing.T) {
	for value, want := range map[string]bool{
		"INIT": false, "init,net": false, "ALL": false, "foo,NET": false, "^COLL": false, "^": false, "^foo": false,
		"": true, "foo": true, "INIT NET": true, " INIT": true, "^ALL": true, "INIT;NET": true,
	} {
		if got := LogsNothing(value); got != want {
			t.Errorf("%q: %t, want %t", value, got, want)
		}
	}
}
