package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/story"
)

// kind is a folder of files that one part of Railhead reads.
type kind struct {
	folder  string
	redact  func(words, string) (string, *redactor)
	verdict func(text string) string // what Railhead says of a file; "" if it finds nothing to judge
}

var kinds = []kind{
	{"nccl", words.redact, verdictOfLog},
	{"nccl2", words.redact, verdictOfLog},
	{"nccl3", words.redact, verdictOfLog},
	{"bench", words.redact, verdictOfBench},
	{"pods", words.redact, verdictOfEvent},
	{"pcidevice", words.redact, verdictOfEnvironment},
	{"outputs", redactLspci, verdictOfLspci},
}

// verdictOfLog lists what explain says of each run in a log, without the names in it.
func verdictOfLog(text string) string {
	var p nccllog.Parser
	n := 0
	for line := range bytes.Lines([]byte(text)) {
		n++
		p.Line(event.Place{File: "log", Line: n}, line)
	}
	p.End(event.Place{File: "log", Line: n}, []byte(text))
	var all []string
	for _, r := range explain.Log(p.Log()).Runs {
		all = append(all, verdictOfRun(r))
	}
	return strings.Join(all, "; ")
}

func verdictOfRun(r story.Run) string {
	used := "unknown"
	if r.Network.Used != nil {
		used = fmt.Sprint(*r.Network.Used)
	}
	var causes, victims []string
	for _, c := range r.Causes {
		causes = append(causes, fmt.Sprint(c.ID, " ", c.Confidence, " ", c.Network))
	}
	for _, v := range r.Victims {
		victims = append(victims, v.What)
	}
	return fmt.Sprint(r.NCCLVersion, " ", r.Ranks, " ranks ", r.Nodes, " nodes ", r.Network.Name, " ", r.Network.Kind,
		" ", r.Network.LinkLayer, " used ", used, " ", r.Network.Transport, " gdr ", r.GPUDirect, " ", r.Outcome,
		" ended ", r.Ended, " causes ", causes, " victims ", victims, " survived ", len(r.Survived), " differences ",
		len(r.Differences), " variables ", r.Variables)
}

// verdictOfBench lists the figures of the benchmark's output.
func verdictOfBench(text string) string {
	var run bench.AllReduceRun
	run.Take(text)
	if len(run.Sizes) > 0 {
		return fmt.Sprint(run.Ranks, " ", run.Sizes)
	}
	p := bench.ParsePerftest(text)
	best, err := p.Best()
	if err != nil {
		return ""
	}
	return fmt.Sprint(best, " ", p.Errors)
}

// verdictOfEvent is why a pod with such an event does not start.
func verdictOfEvent(text string) string {
	pod := cluster.Pod{Namespace: "train", Name: "x"}
	o, ok := pods.Explain(pod, []cluster.Event{{Message: text}}, cluster.State{})
	if !ok {
		return ""
	}
	return string(o.Check)
}

// verdictOfEnvironment lists the devices in the variables that a snapshot keeps.
func verdictOfEnvironment(text string) string {
	probes := sysfs.Probes{Environ: func() []string { return strings.Split(text, "\n") }}
	env := sysfs.Read(fs.FS(replay.New()), probes).Env
	var devices []string
	for _, value := range env {
		devices = append(devices, fmt.Sprint(host.FindPCIAddresses(value)))
	}
	slices.Sort(devices)
	return strings.Join(devices, " ")
}
