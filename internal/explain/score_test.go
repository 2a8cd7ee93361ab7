package explain

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/corpustest"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// doubtful says where the index tells more than the lines of the file, or other than they: file, field, why.
var doubtful = map[string]map[string]string{
	"004-create-cq.log":      {"gdr": "its channels have no GDRDMA, which NCCL 2.9 prints"},
	"007-hang-timelimit.log": {"network": "no line of NCCL; the index has it from a README"},
	"021-roce-async-fatal-qp.log": {"network": "no line tells the link layer; IB stands for " +
		"verbs, linkLayer is unknown"},
	"025-erdma-unable-to-open-device.log": {"gdr": "the file has one line, which is not of GPUDirect"},
	"045-gdrcopy-gin.log":                 {"gdr": "no line of GPUDirect RDMA"},
	"030-createqp-memlock-containerd.log": {"network": "the file has one line, of a call of verbs"},
	"056-nvls-cannot-assign-address.log": {"cause": "the only line is of a connection that failed; nvls is listed " +
		"as possible"},
	"057-docker-bridge-address.log": {
		"network": "it failed before a network was chosen",
		"gdr":     "it failed before a network was chosen",
	},
	"083-socket-hca-name-is-netdev.log": {"cause": "no line has NCCL_IB_HCA: the lines are those of a " +
		"node without devices; hca-filter is listed as possible"},
	"092-roce-resiliency-single-device.log": {"network": "no line tells the link layer; IB stands for " +
		"verbs, linkLayer is unknown"},
}

// TestScore compares the stories with the index, field by field. In a corpus that is not in the repository the labels
// may be as doubtful, so differences are only shown.
func TestScore(t *testing.T) {
	for i, dir := range corpustest.Folders(t, "nccl") {
		differs := t.Errorf
		if i > 0 {
			differs = t.Logf
		}
		right, all := 0, 0
		for _, row := range corpustest.Index(t, dir) {
			run := read(t, filepath.Join(dir, row["file"])).Runs[0]
			cause := "-"
			if len(run.Causes) > 0 {
				cause = string(run.Causes[0].ID)
			}
			for _, c := range [][3]string{
				{"network", kindOfIndex(row["network"]), string(run.Network.Kind)},
				{"gdr", gdrOfIndex(row["gdr"]), string(run.GPUDirect)},
				{"outcome", row["outcome"], string(run.Outcome)}, {"cause", row["family"], cause},
			} {
				all++
				why := doubtful[row["file"]][c[0]]
				switch {
				case c[1] == c[2]:
					right++
				case why == "":
					differs("%s: %s: want %s, got %s", row["file"], c[0], c[1], c[2])
				default:
					t.Logf("%s: %s: want %s, got %s (doubtful: %s)", row["file"], c[0], c[1], c[2], why)
				}
			}
		}
		t.Logf("%s: %d of %d fields as in the index", dir, right, all)
	}
}

func read(t *testing.T, file string) story.Story {
	t.Helper()
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	var text io.Reader = packed
	if strings.HasSuffix(file, ".gz") {
		if text, err = gzip.NewReader(packed); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	return Log(parsed(filepath.Base(file), data))
}

func parsed(file string, data []byte) nccllog.Log {
	var p nccllog.Parser
	n := 0
	for line := range bytes.Lines(data) {
		n++
		p.Line(event.Place{File: file, Line: n}, line)
	}
	p.End(event.Place{File: file, Line: n}, data)
	return p.Log()
}

func kindOfIndex(text string) string {
	for _, known := range [][2]string{
		{"other:OFI", "OFI"}, {"other:AWS", "OFI"}, {"other:Libfabric", "OFI"}, {"unknown", "unknown"},
		{"none", "none"}, {"Socket", "Socket"},
		{"IB", "IB"}, {"RoCE", "RoCE"},
	} {
		if strings.HasPrefix(text, known[0]) {
			return known[1]
		}
	}
	switch {
	case strings.Contains(text, "RoCE"):
		return "RoCE"
	case strings.Contains(text, "(IB"), strings.Contains(text, "IBext"):
		return "IB"
	}
	return text
}

func gdrOfIndex(text string) string {
	word, rest, _ := strings.Cut(text, " ")
	if strings.Contains(rest, "one HCA") {
		return "partial"
	}
	return word
}

// TestHealthyLogsOfOthers: logs of jobs that were well have no cause.
func TestHealthyLogsOfOthers(t *testing.T) {
	dir, seen := corpustest.Folder(t, "nccl"), 0
	for _, row := range corpustest.Index(t, dir) {
		if row["outcome"] != "ok" || row["family"] != "-" {
			continue
		}
		seen++
		run := read(t, filepath.Join(dir, row["file"])).Runs[0]
		if len(run.Causes) > 0 || run.Outcome == story.OutcomeFail {
			t.Errorf("%s: %s, %+v", row["file"], run.Outcome, run.Causes)
		}
	}
	if seen < 5 {
		t.Errorf("%d healthy logs in the index", seen)
	}
}
