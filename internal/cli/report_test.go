package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/report/html"
	"github.com/railhead/railhead/internal/serve"
)

// reportInputs are files of every kind, in a folder.
func reportInputs(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	put := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rails := []bench.MatrixRail{{Name: "rail0", Ceiling: 392.1}}
	m := bench.NewMatrix([]bench.MatrixPod{{Name: "a"}, {Name: "b"}}, rails)
	m.Set(0, 1, 0, 386)
	found := m.Attribute(0.9)
	result, err := json.Marshal(bench.Result{
		SchemaVersion: 1,
		Job:           "h-kim",
		MinEfficiency: 0.9,
		Pods:          []bench.Pod{{Name: "a"}, {Name: "b"}},
		Matrix:        m,
		Attribution:   &found,
	})
	if err != nil {
		t.Fatal(err)
	}
	put("bench.json", result)
	put("torn.json", result[:100])
	put("short.json", bytes.Replace(result, []byte("[386]"), []byte("[386,1]"), 1))
	put("newer.json", bytes.Replace(result, []byte(`"schemaVersion":1`), []byte(`"schemaVersion":9`), 1))
	for name, place := range map[string]string{
		"bundle.tgz":    "../../testdata/bundles/v1.tgz",
		"machine.txtar": "../../testdata/hosts/pod-half-broken.txtar",
	} {
		text, err := os.ReadFile(place)
		if err != nil {
			t.Fatal(err)
		}
		put(name, text)
	}
	machine, err := sysfs.Open("../../testdata/hosts/pod-roce-4vf.txtar")
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := json.Marshal(machine.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	put("snapshot.json", snapshot)
	put("verdict.json", []byte(run("doctor", "--from", filepath.Join(folder, "bundle.tgz"), "-o", "json").out))
	put("other.json", []byte(`{"kind": "List"}`))
	put("notes.txt", []byte("hello\n"))
	put("empty.json", nil)
	return folder
}

func TestReportFiles(t *testing.T) {
	folder := reportInputs(t)
	for line, test := range map[string]struct {
		want []string // in the page
		err  string
	}{
		"bench.json": {
			want: []string{
				"<title>Pass: Job h-kim</title>",
				"Every measurement reaches 90.0 % of its ceiling.",
				"386.0 Gb/s",
			},
		},
		"bundle.tgz": {
			want: []string{"<title>Fail: Job h-kim in namespace train</title>", "Diagnosis bundle.tgz"},
		},
		"verdict.json": {
			want: []string{"<title>Fail: Job h-kim in namespace train</title>", "Diagnosis verdict.json"},
		},
		"machine.txtar snapshot.json": {want: []string{"2 pods", "pod/", "Ports of the machines"}},
		"bench.json bundle.tgz": {
			want: []string{"Bench bench.json", "Diagnosis bundle.tgz", "Job h-kim in namespace train · Job h-kim"},
		},
		"torn.json": {err: "torn.json: read it as JSON: unexpected end of JSON input"},
		"short.json": {
			err: "short.json: incomplete result: it refers to pods or rails that it does not contain",
		},
		"newer.json": {
			err: "newer.json: unknown schema version 9: this railhead reads versions up to 2",
		},
		"other.json":           {err: "other.json: it is neither an archive of"},
		"notes.txt":            {err: "notes.txt: it is neither an archive of"},
		"empty.json":           {err: "empty.json: nothing was written to it yet"},
		"bench.json none.json": {err: "none.json: no such file or directory"},
	} {
		t.Run(line, func(t *testing.T) {
			args := []string{"report", "-o", "-"}
			for _, name := range strings.Fields(line) {
				args = append(args, filepath.Join(folder, name))
			}
			got := run(args...)
			if test.err != "" {
				if got.code != int(exit.Unknown) || got.out != "" || !strings.Contains(got.err, test.err) {
					t.Errorf("%+v", got)
				}
				return
			}
			if got.code != 0 || got.err != "" {
				t.Fatalf("exit status %d, %q", got.code, got.err)
			}
			for _, want := range test.want {
				if !strings.Contains(got.out, want) {
					t.Errorf("the page does not have %q", want)
				}
			}
		})
	}
}

func TestReportOutput(t *testing.T) {
	folder := reportInputs(t)
	page := filepath.Join(folder, "report.html")
	for want, args := range map[string][]string{
		"read monday.json: no such file or directory":                       {"monday.json", "-o", page},
		"use -o report.html to write the page, or --serve to show it":       {filepath.Join(folder, "bench.json")},
		"--serve 0.0.0.0:80: must be a local address, such as 127.0.0.1:80": {"--serve=0.0.0.0:80"},
	} {
		got := run(append([]string{"report"}, args...)...)
		if got.code == 0 || !strings.Contains(got.err, want) {
			t.Errorf("%v: %+v", args, got)
		}
	}
	got := run("report", filepath.Join(folder, "bench.json"), "-o", page)
	if got.code != 0 || got.out != "" || got.err != page+": Every measurement reaches 90.0 % of its ceiling.\n" {
		t.Errorf("%+v", got)
	}
	text, err := os.ReadFile(page)
	if err != nil || !bytes.HasPrefix(text, []byte("<!DOCTYPE html>")) || !bytes.HasSuffix(text, []byte("</html>\n")) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// hang is a limit that only something reaches that hangs.
const hang = 5 * time.Minute

// talk passes on the messages of the server.
type talk chan string

func (t talk) Write(p []byte) (int, error) {
	t <- string(p)
	return len(p), nil
}

// The page of a bench that has just started exists before its result.
func TestServeBeginningBench(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	if err := checkWritable("--save", file); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	said := make(talk, 8)
	a := &app{Streams: Streams{Out: io.Discard, Err: said}}
	out := filepath.Join(t.TempDir(), "report.html")
	ended := make(chan error, 1)
	go func() {
		ended <- a.report(ctx, &serve.Files{Names: []string{file}}, reportFlags{out: out, serve: "127.0.0.1:0"})
	}()
	url, _, _ := strings.Cut(<-said, " ")
	shows := func(text string) bool {
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(page), text)
	}
	if !shows("nothing was written to it yet") {
		t.Error("the page does not say that it waits")
	}
	if err := saveJSON(file, bench.Result{SchemaVersion: 1, Job: "h-kim", Unfinished: true}); err != nil {
		t.Fatal(err)
	}
	for late := time.After(hang); !shows("Nothing has been measured yet."); {
		select {
		case <-late:
			t.Fatal("the bench is not shown")
		case <-time.After(50 * time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFollowFiles(t *testing.T) {
	folder := reportInputs(t)
	name := filepath.Join(folder, "bench.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), hang)
	defer stop()
	shown := make(chan html.Page, 1)
	ended := make(chan error, 1)
	source := &serve.Files{Names: []string{name}}
	if _, err := source.Page(ctx); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- source.Follow(ctx, func(p html.Page) { shown <- p }) }()
	text = bytes.Replace(text, []byte(`"h-kim"`), []byte(`"h-kim-again"`), 1)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case p := <-shown:
		if p.Title != "Job h-kim-again" {
			t.Errorf("%q is shown", p.Title)
		}
	case <-ctx.Done():
		t.Fatal("the change of the file was not noticed")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
