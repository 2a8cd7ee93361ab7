package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/corpustest"
	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/story"
)

// TestOneJudge: launch, which reads line by line, and explain, which reads files, agree about the network of every log.
func TestOneJudge(t *testing.T) {
	paths := slices.Concat(corpustest.Files(t, "nccl"), corpustest.Files(t, "nccl2"), corpustest.Files(t, "nccl3"))
	for _, pattern := range []string{"../../testdata/logs/*.txtar", "../../testdata/gpu/*.log.gz"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { agree(t, logFiles(t, path)) })
	}
	if len(paths) < 300 {
		t.Errorf("%d logs", len(paths))
	}
}

// namedLog is one file of a log.
type namedLog struct {
	name string
	data []byte
}

// logFiles returns the files of a fixture, which stand between "-- name --" lines, or the file itself.
func logFiles(t *testing.T, path string) []namedLog {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if name, packed := strings.CutSuffix(filepath.Base(path), ".gz"); packed {
		reader, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
		return []namedLog{{name, data}}
	}
	if filepath.Ext(path) != ".txtar" {
		return []namedLog{{filepath.Base(path), data}}
	}
	var files []namedLog
	for line := range bytes.Lines(data) {
		name, begins := bytes.CutPrefix(line, []byte("-- "))
		if name, ends := bytes.CutSuffix(name, []byte(" --\n")); begins && ends {
			files = append(files, namedLog{name: string(name)})
		} else if len(files) > 0 {
			last := &files[len(files)-1]
			last.data = append(last.data, line...)
		}
	}
	return files
}

// claims are the facts about the network that both commands report.
type claims struct {
	Name, Kind, LinkLayer, Used string
	GPUDirect                   story.GPUDirect
}

func claimsOf(r story.Run) claims {
	used := "null"
	if r.Network.Used != nil {
		used = fmt.Sprint(*r.Network.Used)
	}
	return claims{r.Network.Name, string(r.Network.Kind), r.Network.LinkLayer, used, r.GPUDirect}
}

func agree(t *testing.T, files []namedLog) {
	t.Helper()
	dir, seen := t.TempDir(), &launch.Evidence{}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o600); err != nil {
			t.Fatal(err)
		}
		take := seen.Stream(f.name)
		for line := range bytes.Lines(f.data) {
			take(bytes.TrimRight(line, "\r\n"))
		}
	}
	var explained story.Story
	if err := json.Unmarshal([]byte(run("explain", dir, "-o", "json").out), &explained); err != nil {
		t.Fatal(err)
	}
	launched, want := explain.Log(seen.Log()).Last(), claimsOf(explained.Last())
	if diff := cmp.Diff(want, claimsOf(launched)); diff != "" {
		t.Errorf("(-explain +launch):\n%s", diff)
	}
	line := launch.NetworkLine{
		Run: launched, Seen: seen.Log().Seen(), Pods: 2, Settings: launch.Settings{Mode: string(nccl.RDMA)},
	}.String()
	if got := wordsOf(line); !slices.Contains(wordsFor(want, explained.Last().Nodes), got) {
		t.Errorf("launch says %q for %+v", line, want)
	}
}

// wordsOf returns the first word of launch's line, and its statement about GPUDirect.
func wordsOf(line string) string {
	begin, _, _ := strings.Cut(line, ":")
	begin, _, _ = strings.Cut(begin, " ")
	switch {
	case strings.Contains(line, " without GPUDirect"):
		return begin + ", no"
	case strings.Contains(line, " with GPUDirect on ") && strings.Contains(line, " ends"):
		return begin + ", partial"
	case strings.Contains(line, " with GPUDirect"):
		return begin + ", yes"
	}
	return begin
}

// wordsFor returns the results of wordsOf that agree with the claims.
func wordsFor(c claims, nodes int) []string {
	switch c.Used {
	case "true":
		direct := map[story.GPUDirect]string{
			story.GPUDirectYes:     ", yes",
			story.GPUDirectNo:      ", no",
			story.GPUDirectPartial: ", partial",
			story.GPUDirectUnknown: "",
		}[c.GPUDirect]
		if c.Kind == string(story.IB) || c.Kind == string(story.RoCE) {
			return []string{"RDMA" + direct, "mixed" + direct}
		}
		return []string{"plugin" + direct, "mixed" + direct}
	case "false":
		if c.Kind == string(story.Socket) {
			return []string{"TCP", "none"} // none: the connections failed
		}
		return []string{"none", "NVLink"}
	}
	if nodes == 1 {
		return []string{"one"}
	}
	return []string{"not"}
}
