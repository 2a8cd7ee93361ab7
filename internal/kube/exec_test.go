package kube

import "testing"

func TestCapture(t *testing.T) {
	b := Capture{Limit: 5}
	for range 3 {
		if n, err := b.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("Write: %d, %v", n, err)
		}
	}
	if got := b.String(); got != "abcab" || !b.truncated() {
		t.Errorf("kept %q, truncated %v", got, b.truncated())
	}
}
