package check

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statuses are all of them, from the mildest to the gravest, by name.
var statuses = []string{"pass", "skipped", "unknown", "warn", "fail"}

func TestWorst(t *testing.T) {
	of := func(all ...Status) []Finding {
		var findings []Finding
		for _, s := range all {
			findings = append(findings, Finding{Status: s})
		}
		return findings
	}
	for name, test := range map[string]struct {
		in   []Finding
		want Status
	}{
		"nothing found":                          {nil, Pass},
		"one":                                    {of(Warn), Warn},
		"the gravest first":                      {of(Fail, Warn, Pass), Fail},
		"the gravest last":                       {of(Pass, Warn, Fail), Fail},
		"what could not be read is not healthy":  {of(Pass, Unknown, Skipped), Unknown},
		"a danger outweighs what is not known":   {of(Unknown, Warn), Warn},
		"what was skipped outweighs what passed": {of(Pass, Skipped), Skipped},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Worst(test.in); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestStatusNames(t *testing.T) {
	for i, name := range statuses {
		status := Status(i)
		text, err := status.MarshalText()
		if err != nil || string(text) != name || status.String() != name {
			t.Errorf("status %d is %q and %q, want %q: %v", i, text, status, name, err)
		}
		var again Status
		if err := again.UnmarshalText(text); err != nil || again != status {
			t.Errorf("%s is read as %s: %v", name, again, err)
		}
	}
	if last := Status(len(statuses)); !strings.HasPrefix(last.String(), "status(") {
		t.Errorf("a status is missing in this test: %s", last)
	}
	if got := Status(-1).String(); got != "status(-1)" {
		t.Errorf("below the first: %s", got)
	}
}

func TestStatusRefuses(t *testing.T) {
	for _, text := range []string{"", "Fail", "FAIL", "fail ", "status(5)", "5", "failed"} {
		s := Warn
		if err := s.UnmarshalText([]byte(text)); err == nil || s != Warn {
			t.Errorf("%q is read as %s: %v", text, s, err)
		}
	}
}

// TestFindingJSON holds the form in which programs read findings.
func TestFindingJSON(t *testing.T) {
	for name, test := range map[string]struct {
		in   Finding
		want string
	}{
		"all of it": {
			Finding{
				Check: "uverbs-openable", Status: Fail, Subject: DeviceRef("mlx5_6"), Summary: "uverbs6 not permitted",
				Evidence: []Evidence{{Source: "/dev/infiniband/uverbs6", Got: "not permitted", Want: "openable"}, {Source: "env", Got: ""}},
				Fix:      &Fix{Text: "Request it.", Commands: []string{"oc apply"}, Who: Admin},
			},
			`{"check":"uverbs-openable","status":"fail","subject":{"kind":"device","part":"mlx5_6"},"summary":"uverbs6 not permitted",` +
				`"evidence":[{"source":"/dev/infiniband/uverbs6","got":"not permitted","want":"openable"},{"source":"env","got":""}],` +
				`"fix":{"text":"Request it.","commands":["oc apply"],"who":"admin"}}`,
		},
		"a pass keeps its status": {
			Finding{Check: "gid-usable", Summary: "x"}, `{"check":"gid-usable","status":"pass","summary":"x"}`,
		},
		"a fix without commands": {
			Finding{Check: "c", Status: Unknown, Fix: &Fix{Text: "Ask.", Who: User}},
			`{"check":"c","status":"unknown","summary":"","fix":{"text":"Ask.","who":"user"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(data)); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
			var again Finding
			if err := json.Unmarshal(data, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.in, again); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindingOfLaterVersion(t *testing.T) {
	var f Finding
	if err := json.Unmarshal([]byte(`{"check":"c","status":"warn","page":"x","fix":{"who":"user","link":"y"}}`), &f); err != nil {
		t.Errorf("unknown fields: %v", err)
	}
	if diff := cmp.Diff(Finding{Check: "c", Status: Warn, Fix: &Fix{Who: User}}, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"check":"c","status":"catastrophic"}`), &f); err == nil {
		t.Error("an unknown status was read as a known one")
	}
}

func TestEvidenceText(t *testing.T) {
	for name, test := range map[string]struct {
		in   Evidence
		want string
	}{
		"against an expectation": {Evidence{"/sys/x/state", "DOWN", "ACTIVE"}, "/sys/x/state: DOWN (want ACTIVE)"},
		"speaks for itself":      {Evidence{Source: "PCIDEVICE_X", Got: "names mlx5_6"}, "PCIDEVICE_X: names mlx5_6"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.in.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPage(t *testing.T) {
	if diff := cmp.Diff("docs/checks/memlock-limit.md", ID("memlock-limit").Page()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExplains(t *testing.T) {
	rail := Named(Resource, "openshift.io/rail1")
	of := func(subject Ref, about ...Ref) Finding { return Finding{Subject: subject, About: about} }
	pod := PodRef("train", "h-kim-0")
	for name, test := range map[string]struct {
		cause, effect Finding
		want          bool
	}{
		"the same subject":                    {of(pod), of(pod), true},
		"a subject is evidence for the other": {of(NodeRef("gpu-1")), of(pod, NodeRef("gpu-1")), true},
		"both are evidence for a third":       {of(NodeRef("gpu-1"), rail), of(pod, rail), true},
		"a name that begins alike":            {of(NodeRef("gpu-1")), of(pod, NodeRef("gpu-10")), false},
		"one name, two kinds":                 {of(Named(Pool, "gpu")), of(NodeRef("gpu")), false},
		"two namespaces":                      {of(PodRef("a", "p")), of(PodRef("b", "p")), false},
		"no object is named":                  {of(Ref{Kind: Nodes}), of(Ref{Kind: Nodes}), false},
		"no subject":                          {of(Ref{}), of(Ref{}), false},
		"the whole cluster":                   {of(Ref{Kind: Cluster}), of(pod, rail), true},
		"one resource of the cluster":         {of(Ref{Kind: Cluster}, rail), of(pod, Named(Resource, "cpu")), false},
		"two rails of one pod":                {of(RailRef("mlx5_0:1").On(pod)), of(RailRef("mlx5_1:1").On(pod)), false},
	} {
		if got := Explains(test.cause, test.effect); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
