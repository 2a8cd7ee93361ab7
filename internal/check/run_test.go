package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answers are the findings of each check of a test's catalogue.
type answers map[ID][]Finding

func found(id ID, status Status) []Finding {
	return []Finding{{Check: id, Status: status, Summary: string(id)}}
}

// catalogue is a chain device <- port <- gid, and memlock; the order of the literals is not that of the needs.
func catalogue() []Check[answers] {
	of := func(id ID, needs ...ID) Check[answers] {
		return Check[answers]{ID: id, Title: "healthy " + string(id), Needs: needs, Run: func(a answers) []Finding { return a[id] }}
	}
	return []Check[answers]{of("gid", "port"), of("memlock"), of("port", "device"), of("device", "of-another-catalogue")}
}

func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		in   answers
		want Report
	}{
		"all healthy": {nil, Report{Findings: []Finding{}, Passed: []ID{"gid", "memlock", "port", "device"}}},
		"the root cause hides its consequences": {
			answers{"device": found("device", Fail), "port": found("port", Fail), "gid": found("gid", Fail)},
			Report{
				Findings: found("device", Fail), Passed: []ID{"memlock"},
				Skipped: []Skip{{Check: "gid", Needs: "device"}, {Check: "port", Needs: "device"}},
			},
		},
		"a finding that names a more exact page": {
			answers{"device": found("uverbs", Fail)},
			Report{
				Findings: found("uverbs", Fail), Passed: []ID{"memlock"},
				Skipped: []Skip{{Check: "gid", Needs: "uverbs"}, {Check: "port", Needs: "uverbs"}},
			},
		},
		"the gravest first, whatever its depth": {
			answers{"memlock": found("memlock", Warn), "gid": found("gid", Fail)},
			Report{Findings: append(found("gid", Fail), found("memlock", Warn)...), Passed: []ID{"port", "device"}},
		},
		"of equals the one on which more builds": {
			answers{"memlock": found("memlock", Fail), "gid": found("gid", Fail)},
			Report{Findings: append(found("memlock", Fail), found("gid", Fail)...), Passed: []ID{"port", "device"}},
		},
		"what could not be read is not healthy": {
			answers{"port": found("port", Unknown)},
			Report{Findings: found("port", Unknown), Passed: []ID{"memlock", "device"}, Skipped: []Skip{{Check: "gid", Needs: "port"}}},
		},
		"a remark stops nothing": {
			answers{"device": found("device", Pass)},
			Report{Findings: found("device", Pass), Passed: []ID{"gid", "memlock", "port", "device"}},
		},
		"no data for the check": {
			answers{"port": {{Check: "port", Status: Skipped, Summary: "not probed"}}},
			Report{
				Findings: []Finding{}, Passed: []ID{"memlock", "device"},
				Skipped: []Skip{{Check: "gid", Why: "not probed"}, {Check: "port", Why: "not probed"}},
			},
		},
		"the gravest of a check's findings is the root": {
			answers{"port": append(found("carrier", Warn), found("port", Fail)...)},
			Report{
				Findings: append(found("port", Fail), found("carrier", Warn)...), Passed: []ID{"memlock", "device"},
				Skipped: []Skip{{Check: "gid", Needs: "port"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Run(catalogue(), test.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunOfACircle(t *testing.T) {
	of := func(id ID, needs ...ID) Check[answers] {
		return Check[answers]{ID: id, Needs: needs, Run: func(a answers) []Finding { return a[id] }}
	}
	got := Run([]Check[answers]{of("a", "b"), of("b", "a")}, nil)
	if diff := cmp.Diff([]ID{"a", "b"}, got.Passed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReport(t *testing.T) {
	r := Run(catalogue(), answers{"device": found("device", Fail), "memlock": found("memlock", Pass)})
	if diff := cmp.Diff([]ID{"gid", "port"}, r.Folded("device")); diff != "" {
		t.Errorf("folded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(found("device", Fail), r.AtLeast(Warn)); diff != "" {
		t.Errorf("at least warn (-want +got):\n%s", diff)
	}
	if len(r.AtLeast(Pass)) != 2 || r.Worst() != Fail {
		t.Errorf("%d findings, worst %s", len(r.AtLeast(Pass)), r.Worst())
	}
	unseen := Run(catalogue(), answers{"device": {{Status: Skipped, Summary: "not probed"}}})
	if unseen.Worst() != Skipped {
		t.Errorf("a check without data is %s", unseen.Worst())
	}
}
