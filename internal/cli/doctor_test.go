package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/workload"
)

func TestDoctorSubject(t *testing.T) {
	for line, test := range map[string]struct {
		want  workload.Subject
		wrong string
	}{
		"":                         {},
		"h-kim":                    {want: workload.Subject{Job: "h-kim"}},
		"h-kim node/a":             {want: workload.Subject{Job: "h-kim", Nodes: []string{"a"}}},
		"pod/a po/b":               {want: workload.Subject{Pods: []string{"a", "b"}}},
		"pod/train/a pod/b":        {want: workload.Subject{Namespace: "train", Pods: []string{"a", "b"}}},
		"pod/train/a pod/x/b":      {wrong: "pod/x/b is neither pod/POD nor pod/NAMESPACE/POD of one namespace"},
		"pod/train/a/b":            {wrong: "is neither"},
		"pod/":                     {wrong: "is neither"},
		"node/a.example.com":       {want: workload.Subject{Nodes: []string{"a.example.com"}}},
		"h-kim pod/a":              {wrong: "a job or pods, not both"},
		"h-kim h-lee":              {wrong: `unexpected argument "h-lee": name one job`},
		"h-kim node":               {wrong: `unexpected argument "node"`},
		"trainjobs/llama":          {want: workload.Subject{Kind: "TrainJob", Job: "llama"}},
		"service/x":                {want: workload.Subject{Kind: "service", Job: "x"}}, // perhaps the owner of pods
		"h-kim x/":                 {wrong: `unexpected argument "x/"`},
		"--cluster":                {want: workload.Subject{Cluster: true}},
		"--cluster node/a":         {wrong: "--cluster examines only the cluster"},
		"--from=x.tgz --nodes":     {wrong: "--from diagnoses an archive"},
		"--from=x.tgz h-kim":       {wrong: "--from diagnoses an archive"},
		"--timeout=0 h-kim":        {wrong: "--timeout must be more than 0"},
		"--watch node/w":           {want: workload.Subject{Nodes: []string{"w"}}},
		"--watch 30s node/w":       {want: workload.Subject{Nodes: []string{"w"}}},
		"--watch=1s --nodes h-kim": {want: workload.Subject{Job: "h-kim"}},
		"--watch=1s h-kim":         {wrong: "name a node, or use --nodes"},
		"--watch=-1s node/w":       {wrong: "--watch must be more than 0"},
		"--watch --from=x.tgz":     {wrong: "x.tgz is a file: its counters were read"},
		"--measure":                {},
		"--measure --nodes h-kim":  {want: workload.Subject{Job: "h-kim"}},
		"--measure --force pod/a":  {want: workload.Subject{Pods: []string{"a"}}},
		"--measure h-kim m":        {wrong: `unexpected argument "m": name one job`},
		"--measure node/m":         {wrong: "--measure measures between pods: name a job or pods"},
		"--measure --cluster":      {wrong: "--measure measures between pods"},
		"--measure --from=x.tgz":   {wrong: "x.tgz is a file"},
		"--force h-kim":            {wrong: "--force needs --measure"},
	} {
		t.Run(line, func(t *testing.T) {
			var f doctorFlags
			cmd := &cobra.Command{}
			f.add(cmd)
			if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
				t.Fatal(err)
			}
			got, err := f.subject(watchTime(cmd, cmd.Flags().Args()))
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("%v", err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDoctorExitCodes(t *testing.T) {
	of := func(all ...check.Status) rules.Diagnosis {
		var d rules.Diagnosis
		for _, s := range all {
			d.Problems = append(d.Problems, rules.Problem{Finding: check.Finding{Status: s}})
		}
		return d
	}
	for name, test := range map[string]struct {
		d      rules.Diagnosis
		failOn string
		want   int
		logged story.Outcome
	}{
		"nothing":                          {of(), "fail", 0, ""},
		"a failure":                        {of(check.Warn, check.Fail), "fail", 1, ""},
		"a warning":                        {of(check.Warn), "fail", 0, ""},
		"a warning with --fail-on warn":    {of(check.Warn), "warn", 1, ""},
		"an unknown":                       {of(check.Unknown), "fail", 3, ""},
		"a failure outweighs an unknown":   {of(check.Unknown, check.Fail), "fail", 1, ""},
		"a warning and an unknown":         {of(check.Unknown, check.Warn), "fail", 3, ""},
		"a failure with --fail-on never":   {of(check.Fail, check.Unknown), "never", 0, ""},
		"a log of a run that failed":       {of(), "fail", 1, story.OutcomeFail},
		"a log of a run over TCP":          {of(check.Warn), "fail", 1, story.OutcomeFallback},
		"a log of a run that was slower":   {of(), "fail", 0, story.OutcomeDegraded},
		"a slower run with --fail-on warn": {of(), "warn", 1, story.OutcomeDegraded},
		"a log of a healthy run":           {of(), "warn", 0, story.OutcomeOK},
	} {
		t.Run(name, func(t *testing.T) {
			var coded exit.Error // 0 without one
			verdict := rules.Verdict{Diagnosis: test.d, Log: &story.Story{Runs: []story.Run{{Outcome: test.logged}}}}
			if err := exitOfVerdict(verdict, test.failOn); err != nil && !errors.As(err, &coded) {
				t.Fatal(err)
			}
			if int(coded.Code) != test.want {
				t.Errorf("%d, want %d", int(coded.Code), test.want)
			}
		})
	}
}

const releasedArchive = "../../testdata/bundles/v1.tgz"

// TestDoctorFrom: an archive gives the same verdict in every format, without a cluster.
func TestDoctorFrom(t *testing.T) {
	text := run("doctor", "--from", releasedArchive)
	if text.code != 1 || !strings.Contains(text.err, "by railhead devel") {
		t.Fatalf("%+v", text)
	}
	launchtest.Has(t, text.out,
		"Job h-kim in namespace train: 2 pods examined",
		"no node offers openshift.io/rial2 [network-resource]",
		"pod/train/h-kim-2: could not be examined: no answer within 1m0s [machine-reached]",
		"'railhead explain-check ID' explains each",
	)
	var v rules.Verdict
	err := json.Unmarshal([]byte(run("doctor", "--from", releasedArchive, "-o", "json").out), &v)
	if err != nil || v.Pods != 2 || v.SchemaVersion != rules.DiagnosisSchema || len(v.Problems) == 0 {
		t.Errorf("%+v: %v", v, err)
	}
	for i, p := range v.Problems {
		if i > 0 && p.Status > v.Problems[i-1].Status {
			t.Errorf("%s (%s) follows a less severe one", p.Check, p.Status)
		}
		if p.Check == "" || p.Summary == "" {
			t.Errorf("no check or no summary: %+v", p)
		}
	}
	wide := run("doctor", "--from", releasedArchive, "-o", "wide").out
	if len(wide) <= len(text.out) || !strings.Contains(wide, "passed: ") {
		t.Errorf("wide:\n%s", wide)
	}
	launchtest.Has(t, run("doctor", "--from", releasedArchive, "--autopsy", "loc-prot-err").out,
		"IBV_WC_LOC_PROT_ERR on pod/train/h-kim-1: fits: ", "NCCL_NET_GDR_LEVEL=LOC")
	launchtest.Has(t, run("doctor", "--from", releasedArchive, "-o", "yaml").out, "problems:\n")
}

func TestDoctorFromBrokenArchive(t *testing.T) {
	cut := filepath.Join(t.TempDir(), "cut.tgz")
	whole, err := os.ReadFile(releasedArchive)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		cut:              "the archive is truncated",
		"doctor_test.go": "neither an archive of 'railhead doctor --save'",
		"/nowhere.tgz":   "no such file",
	} {
		got := run("doctor", "--from", file)
		if got.code != int(exit.Unknown) || got.out != "" || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

func TestExplainCheck(t *testing.T) {
	for line, want := range map[string]answer{ // the beginning of stdout, and a part of stderr
		"[memlock-limit]":    {code: 0, out: "# memlock-limit\n"},
		"[acs-iommu]":        {code: 0, out: "# acs-iommu\n"},
		"":                   {code: 0, out: "acs-redirect             no bridge between a GPU and its NIC"},
		"memlok-limit":       {code: 2, err: "did you mean memlock-limit?"},
		"Memlock-":           {code: 2, err: "memlock-limit"},
		"shm-size gid-index": {code: 2, err: `unexpected argument "gid-index"`},
		"../architecture":    {code: 2, err: "there is no check or cause"},
	} {
		got := run(append([]string{"explain-check"}, strings.Fields(line)...)...)
		if got.code != want.code || !strings.HasPrefix(got.out, want.out) || !strings.Contains(got.err, want.err) {
			t.Errorf("%s: %+v", line, got)
		}
		if want.code != 0 && got.out != "" {
			t.Errorf("%s: stdout %q", line, got.out)
		}
	}
}

// TestDoctorClosedPipe: the command fails when nothing reads its output.
func TestDoctorClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	var errs bytes.Buffer
	streams := Streams{In: strings.NewReader(""), Out: w, Err: &errs}
	args := []string{"doctor", "--from", releasedArchive}
	if code := Main(t.Context(), "railhead", args, "test", streams); code == 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
