package prefix

import (
	"strings"
	"testing"
)

func TestTimes(t *testing.T) {
	for line, want := range map[string]string{
		"[2026-03-02 10:00:05] a:1:1 [0] x": "2026-03-02 10:00:05", "[rank0]:[E302 x": "",
		"[rank0]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] x": "0000-12-18 20:27:21.42641554",
		"2026-03-02T10:00:05.5Z worker x":                               "2026-03-02 10:00:05.5",
		"2026-03-02 10:00:05,250 INFO":                                  "2026-03-02 10:00:05.25",
	} {
		got := ""
		if tm := TimeOf(line); !tm.IsZero() {
			got = tm.Format("2006-01-02 15:04:05.999999999")
		}
		if got != want {
			t.Errorf("%s: want %q, got %q", line, want, got)
		}
	}
}

func FuzzSource(f *testing.F) {
	for _, s := range []string{"node:1:2 [3] ", "[1,0]<stdout>:n:1:2 [-1] x.cc:1 ", "a:1 [0] int f(x*, y):46 ",
		"[2026-01-02 03:04:05] a:1:2 [0] x.cc:1 (f) "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, before string) {
		s := SourceOf([]byte(before))
		if len(s.Host) > 0 && (s.PID < 0 || strings.ContainsAny(string(s.Host), " :[]")) {
			t.Errorf("%q: %+v", before, s)
		}
	})
}

func FuzzLabel(f *testing.F) {
	for _, s := range []string{"[1,0]<stdout>:x", "[rank3]: x", " 3: x", "pod-0: x", "(W pid=1, ip=2) x",
		"[pod/a/b] x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if label, number := LabelOf([]byte(line)); number < -1 || !strings.Contains(line, string(label)) {
			t.Errorf("%q: label %q, number %d", line, label, number)
		}
	})
}
