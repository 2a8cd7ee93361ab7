package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
)

// lines splits a text and appends a bar to each line, which makes trailing blanks visible.
func lines(text string) []string {
	all := strings.Split(text, "\n")
	for i := range all[:len(all)-1] {
		all[i] += "|"
	}
	return all
}

func TestTable(t *testing.T) {
	for name, test := range map[string]struct {
		in   Table
		want []string
	}{
		"columns as wide as their widest cell, three blanks between": {
			Table{[]string{"RAIL", "MTU"}, [][]string{{"mlx5_10:1", "9000"}, {"a", "1"}}},
			[]string{"RAIL        MTU|", "mlx5_10:1   9000|", "a           1|", ""},
		},
		"heading alone": {Table{Columns: []string{"RAIL", "MTU"}}, []string{"RAIL   MTU|", ""}},
		"empty and blank cells, also the last": {
			Table{[]string{"A", "", "C"}, [][]string{{"", "x", " "}, {" y ", "z", ""}}},
			[]string{"A   -   C|", "-   x   -|", "y   z   -|", ""},
		},
		"letters of more than one byte": {
			Table{[]string{"A", "B"}, [][]string{{"für", "1"}, {"four", "2"}}},
			[]string{"A      B|", "für    1|", "four   2|", ""},
		},
		"cells that would break the table": {
			Table{[]string{"A", "B"}, [][]string{{"x\ty\nz", "1\v\f2"}, {"\xff\xff", "\r"}}},
			[]string{"A       B|", "x y z   1  2|", "\uFFFD\uFFFD      -|", ""},
		},
		"cells that would move the cursor": {
			Table{[]string{"A", "B"}, [][]string{{"\x1b[2Jx", "\u009b2J\x7f"}}},
			[]string{"A      B|", "[2Jx   2J|", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := test.in.Write(&out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, lines(out.String())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

var errFull = errors.New("no space left on device")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestUnwritten(t *testing.T) {
	table := Table{Columns: []string{"A"}, Rows: [][]string{{"x"}}}
	if err := table.Write(full{}); !errors.Is(err, errFull) {
		t.Errorf("table: %v", err)
	}
	if err := Encode(full{}, "json", 1); !errors.Is(err, errFull) {
		t.Errorf("encode: %v", err)
	}
	if err := Encode(&bytes.Buffer{}, "yaml", func() {}); err == nil {
		t.Error("a function has no YAML")
	}
}

func TestLine(t *testing.T) {
	var out bytes.Buffer
	Line(&out, "%s: %d", "mlx5_6\x1b[31m\nfail: forged", 7)
	if diff := cmp.Diff("mlx5_6 [31m fail: forged: 7\n", out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var (
	request = &check.Fix{Text: "Request it.", Commands: []string{"limits:\n  rdma: 1", "oc apply"}, Who: check.User}
	denied  = check.Finding{
		Check:   "uverbs-openable",
		Status:  check.Fail,
		Subject: check.DeviceRef("mlx5_6"),
		Summary: "uverbs6 not permitted",
		Evidence: []check.Evidence{
			{Source: "/dev/infiniband/uverbs6", Got: "not permitted", Want: "openable"},
		}, Fix: request,
	}
)

// with returns the finding about another subject.
func with(f check.Finding, subject check.Ref) check.Finding {
	f.Subject = subject
	return f
}

func TestFindings(t *testing.T) {
	slow := check.Finding{
		Check:   "rate-uniform",
		Status:  check.Warn,
		Subject: check.RailRef("mlx5_7:1"),
		Summary: "rate 200 Gb/s",
	}
	milder := denied
	milder.Status = check.Warn
	forged := check.Finding{
		Check:    "c",
		Status:   check.Unknown,
		Subject:  check.Named(check.Text, "x\ny"),
		Summary:  "a\nfail: \x1b[1m",
		Evidence: []check.Evidence{{Source: "s", Got: "1\n2"}},
	}
	for name, test := range map[string]struct {
		in     []check.Finding
		detail Detail
		want   []string
	}{
		"none": {nil, Full, []string{""}},
		"brief": {
			[]check.Finding{denied}, Brief,
			[]string{"fail: mlx5_6: uverbs6 not permitted [uverbs-openable]|", "    fix (user): Request it.|", ""},
		},
		"full": {[]check.Finding{denied}, Full, []string{
			"fail: mlx5_6: uverbs6 not permitted [uverbs-openable]|",
			"    seen: /dev/infiniband/uverbs6: not permitted (want openable)|",
			"    fix (user): Request it.|", "        limits:|", "          rdma: 1|", "        oc apply|", "",
		}},
		"the pod is not named: everything is about it": {
			[]check.Finding{with(slow, check.Ref{Kind: check.Pod})}, Full,
			[]string{"warn: rate 200 Gb/s [rate-uniform]|", ""},
		},
		"no subject": {
			[]check.Finding{with(slow, check.Ref{})}, Full, []string{"warn: rate 200 Gb/s [rate-uniform]|", ""},
		},
		"alike for several subjects, another between them": {
			[]check.Finding{
				with(slow, check.DeviceRef("a")),
				denied,
				with(slow, check.DeviceRef("b")),
				with(slow, check.Ref{Kind: check.Pod}),
				with(slow, check.DeviceRef("a")),
			},
			Brief,
			[]string{
				"warn: a, b: rate 200 Gb/s [rate-uniform]|",
				"fail: mlx5_6: uverbs6 not permitted [uverbs-openable]|", "    fix (user): Request it.|", "",
			},
		},
		"the same words, another severity": {
			[]check.Finding{denied, milder}, Brief, []string{
				"fail: mlx5_6: uverbs6 not permitted [uverbs-openable]|", "    fix (user): Request it.|",
				"warn: mlx5_6: uverbs6 not permitted [uverbs-openable]|", "    fix (user): Request it.|", "",
			},
		},
		"foreign words that would forge a line": {
			[]check.Finding{forged}, Full, []string{"unknown: x y: a fail:  [1m [c]|", "    seen: s: 1 2|", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			Findings(&out, test.in, test.detail)
			if diff := cmp.Diff(test.want, lines(out.String())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
