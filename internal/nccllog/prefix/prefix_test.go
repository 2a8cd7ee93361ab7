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
		"Sat Nov 28 14:32:41 2026[1,1]<stderr>:x":                       "2026-11-28 14:32:41",
		"Sun Nov  1 14:32:41 2026<stdout>:x":                            "2026-11-01 14:32:41",
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

// Open MPI 4.1.4 and MPICH 4.0.2 printed these lines.
func TestUntagged(t *testing.T) {
	const now = "Sun Nov 29 11:26:59 2026"
	for line, want := range map[string]string{
		"[1,1]<stderr>:ValueError[1,1]<stderr>:: [1,1]<stderr>:too large[1,1]<stderr>:": "[1,1]<stderr>:ValueError: too large",
		now + "[1,0]<stdout>:hello" + now + "[1,0]<stdout>:":                            now + "[1,0]<stdout>:hello",
		now + "<stdout>:hello" + now + "<stdout>:":                                      now + "<stdout>:hello",
		"[1,0]<stdout>:a[1,1]<stdout>:b":                                                "[1,0]<stdout>:a[1,1]<stdout>:b",
		"[1,0]<stdout>:a<stdin>b":                                                       "[1,0]<stdout>:a<stdin>b",
		"x [1,0]<stdout>:a[1,0]<stdout>:b":                                              "x [1,0]<stdout>:a[1,0]<stdout>:b",
	} {
		if got := string(Untagged([]byte(line))); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestLabelsOfMPI(t *testing.T) {
	for line, want := range map[string]int{
		"Sat Nov 28 14:32:41 2026[1,3]<stderr>:Traceback": 3, "[1,3]<stderr>:x": 3, "[3] x": 3, "[3]: x": -1, "[3]x": -1,
		"Sat Nov 28 14:32:41 2026<stderr>:x": -1, "[123456789] x": -1,
	} {
		if _, number := LabelOf([]byte(line)); number != want {
			t.Errorf("%q: rank %d, want %d", line, number, want)
		}
		if label := Labels(line); want >= 0 && label == "" {
			t.Errorf("%q has no label", line)
		}
	}
}

func FuzzUntagged(f *testing.F) {
	f.Add("[1,1]<stderr>:a[1,1]<stderr>:b")
	f.Add("Sat Nov 28 14:32:41 2026[1,1]<stderr>:a<stderr>:")
	f.Fuzz(func(t *testing.T, line string) {
		if got := Untagged([]byte(line)); len(got) > len(line) {
			t.Errorf("%q became %q", line, got)
		}
	})
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
