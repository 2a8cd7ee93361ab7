package codes

import "testing"

func TestNames(t *testing.T) {
	for status, want := range map[int]string{-1: "", 12: "RETRY_EXC_ERR", 99: "99"} {
		if got := CompletionName(status); got != want {
			t.Errorf("completion %d: want %q, got %q", status, want, got)
		}
	}
	if got := CompletionStatus("IBV_WC_RETRY_EXC_ERR"); got != 12 {
		t.Errorf("want 12, got %d", got)
	}
	if got := FirstError("failed : Connection refused, not No route to host"); Errno(got) != 111 {
		t.Errorf("want Connection refused, got %q", got)
	}
}

func TestEvents(t *testing.T) {
	for text, want := range map[string]Event{
		"CQ error": CQError, "local catastrophic error": DeviceFatal, "local device fatal error": DeviceFatal,
		"port active": PortActive, "port error": PortError, "GID table change": GIDChange,
		"GID table changed": GIDChange, "WQ fatal": WQFatal, "speed change": UnknownEvent,
	} {
		if got := EventNamed(text); got != want {
			t.Errorf("%q: want %d, got %d", text, want, got)
		}
	}
	if PortActive != 9 || PortError != 10 { // as NCCL prints them
		t.Errorf("port active is %d, port error %d", PortActive, PortError)
	}
}

func TestSignals(t *testing.T) {
	for code, want := range map[int]int{137: -9, 139: -11, 1: 1, 128: 128, -6: -6, 255: 255} {
		if got := ExitSignal(code); got != want {
			t.Errorf("exit code %d: want %d, got %d", code, want, got)
		}
	}
	if got := Signal("Fatal Python error: Segmentation fault", "Fatal Python error: *"); got != -11 {
		t.Errorf("want -11, got %d", got)
	}
}
