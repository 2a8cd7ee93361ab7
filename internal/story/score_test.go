package story

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// corpus is a folder of logs from elsewhere, with an index of what they show, which a checkout may have
// next to it.
const corpus = "../../../shared/corpus/nccl"

// doubtful says where the index tells more than the lines of the file, or other than they: file, field, why.
var doubtful = map[string]map[string]string{
	"004-nersc-pm-shifter-create-cq.log": {"gdr": "its channels have no GDRDMA, which NCCL 2.9 prints"},
	"007-nersc-ss11-hang-timelimit.log":  {"network": "no line of NCCL; the index has it from a README"},
	"021-nccltests360-roce-async-fatal-qp.log": {"network": "no line tells the link layer; IB stands for " +
		"verbs, linkLayer is unknown"},
	"025-nccl2428-erdma-unable-to-open-device.log": {"gdr": "the file has one line, which is not of GPUDirect"},
	"045-ofi-gdrcopy-gin.log":                      {"gdr": "no line of GPUDirect RDMA"},
	"030-createqp-memlock-containerd.log":          {"network": "the file has one line, of a call of verbs"},
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

// TestScore compares the stories with the index, field by field.
func TestScore(t *testing.T) {
	dir := corpus
	if other := os.Getenv("RAILHEAD_LOG_CORPUS"); other != "" {
		dir = other
	}
	index, err := os.Open(filepath.Join(dir, "index.tsv"))
	if err != nil {
		t.Skip("the corpus is not next to this checkout")
	}
	defer index.Close()
	reader := csv.NewReader(index)
	reader.Comma, reader.LazyQuotes, reader.FieldsPerRecord = '\t', true, -1
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	right, all := 0, 0
	for _, row := range rows[1:] {
		get := func(name string) string { return row[column[name]] }
		run := read(t, filepath.Join(dir, get("file"))).Runs[0]
		cause := "-"
		if len(run.Causes) > 0 {
			cause = string(run.Causes[0].ID)
		}
		var wrong []string
		for _, c := range [][3]string{
			{"network", kindOfIndex(get("network")), string(run.Network.Kind)},
			{"gdr", gdrOfIndex(get("gdr")), string(run.GPUDirect)},
			{"outcome", get("outcome"), string(run.Outcome)}, {"cause", get("family"), cause},
		} {
			all++
			if c[1] == c[2] {
				right++
				continue
			}
			why := doubtful[get("file")][c[0]]
			wrong = append(wrong, fmt.Sprintf("%s want %s got %s%s", c[0], c[1], c[2],
				map[bool]string{true: "", false: " (doubtful: " + why + ")"}[why == ""]))
			if why == "" && dir == corpus {
				t.Errorf("%s: %s: want %s, got %s", get("file"), c[0], c[1], c[2])
			}
		}
		used := "null"
		if run.Network.Used != nil {
			used = fmt.Sprint(*run.Network.Used)
		}
		t.Logf("%s %-58s %-7s used %-5s gdr %-7s %-8s %-24s %s", get("quality"), get("file"), run.Network.Kind, used,
			run.GPUDirect, run.Outcome, cause, strings.Join(wrong, "; "))
	}
	t.Logf("%d of %d fields as in the index", right, all)
}

func read(t *testing.T, file string) Story {
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
	return Tell(parsed(filepath.Base(file), data))
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
	index, err := os.ReadFile(filepath.Join(corpus, "index.tsv"))
	if err != nil {
		t.Skip("the corpus is not next to this checkout")
	}
	seen := 0
	for line := range strings.Lines(string(index)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if !slices.Contains(fields, "ok") || !slices.Contains(fields, "-") {
			continue
		}
		seen++
		run := read(t, filepath.Join(corpus, fields[0])).Runs[0]
		if len(run.Causes) > 0 || run.Outcome == OutcomeFail {
			t.Errorf("%s: %s, %+v", fields[0], run.Outcome, run.Causes)
		}
	}
	if seen < 5 {
		t.Errorf("%d healthy logs in the index", seen)
	}
}
