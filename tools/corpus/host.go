package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// hosts maps the names of hosts and pods of a file.
type hosts struct {
	names   map[string]string // "": the name has an address, which is replaced in it
	longest []string          // the names, the longest first
}

// hostForms find names of hosts by what stands around them.
var hostForms = []*regexp.Regexp{
	regexp.MustCompile(`([\w<][\w.<>-]*):\d+:\d+ \[\d+\]`),        // NCCL
	regexp.MustCompile(`(?m)^(\w+?)\d{4}:\d{4} \[\d\] \w+\.cc`),   // NCCL, a colon lost
	regexp.MustCompile(`Pid +\d+ on +([\w.-]+) device`),           // nccl-tests
	regexp.MustCompile(`srun: error: ([\w.-]+): task`),            // Slurm
	regexp.MustCompile(`\bON ([\w.-]+) CANCELLED`),                // Slurm
	regexp.MustCompile(`(?m)^\s+host\s+: ([\w.-]+)`),              // torchrun
	regexp.MustCompile(`\[([\w.-]+):\d+ *:\d+(?::\d+)?\]`),        // UCX
	regexp.MustCompile(`\bhost: ([\w.-]+), rank`),                 // oneCCL
	regexp.MustCompile(`[(\[](?:\d+-){3}\d+\.([\w-]+)\.`),         // c10d, a pod behind its service
	regexp.MustCompile(`\bIPv6 address of \(([\w-]+), \d+\)`),     // c10d
	regexp.MustCompile(`closed by remote peer ([A-Za-z][\w.-]*)`), // NCCL
}

// noHosts are words that stand where the name of a host may stand.
var noHosts = []string{"localhost", "hostname"}

func hostsOf(text string) hosts {
	h := hosts{names: map[string]string{}}
	for _, form := range hostForms {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			h.add(m[1])
		}
	}
	h.dropGlued()
	for i, name := range h.longest {
		to := hostName(name, i+1)
		if slices.Contains(slices.Collect(maps.Values(h.names)), to) && to != "" {
			to = fmt.Sprintf("node-%d", i+1) // another job's worker 0
		}
		h.names[name] = to
	}
	slices.SortStableFunc(h.longest, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return h
}

func (h *hosts) add(name string) {
	if strings.ContainsAny(name, "<>") || slices.Contains(noHosts, name) || strings.Trim(name, "0123456789") == "" ||
		slices.Contains(h.longest, name) {
		return
	}
	h.longest = append(h.longest, name)
}

// dropGlued drops names that are the end of another line with a name behind it: lines of processes run into each other.
func (h *hosts) dropGlued() {
	h.longest = slices.DeleteFunc(h.longest, func(name string) bool {
		return slices.ContainsFunc(h.longest, func(other string) bool {
			return other != name && strings.HasSuffix(name, other)
		})
	})
}

var (
	ofEC2       = regexp.MustCompile(`^ip(-\d{1,3}){4}$`)
	ofContainer = regexp.MustCompile(`^[0-9a-f]{12}$`)
	ofPod       = regexp.MustCompile(`-((?:worker|master|launcher|head)-\d+)$`)
)

// hostName returns the replacement of the nth name, of the same kind.
func hostName(name string, n int) string {
	if m := ofPod.FindStringSubmatch(name); m != nil {
		return "train-" + m[1]
	}
	switch {
	case ofEC2.MatchString(name):
		return ""
	case ofContainer.MatchString(name):
		return sameForm(name)
	}
	return fmt.Sprintf("node-%d", n)
}

// dashed is an address in the name of a host.
var dashed = regexp.MustCompile(`\b(?:10|172|192)(?:-\d{1,3}){3}\b`)

// replace replaces the names in a line.
func (h hosts) replace(line string, n networks) string {
	for _, name := range h.longest {
		if to := h.names[name]; to != "" {
			line = replaceName(line, name, to)
		}
	}
	return dashed.ReplaceAllStringFunc(line, func(address string) string {
		return strings.ReplaceAll(n.address(strings.ReplaceAll(address, "-", ".")), ".", "-")
	})
}

// replaceName replaces a name where it stands alone, and where it is glued to the end of another line.
func replaceName(line, name, to string) string {
	var out strings.Builder
	for {
		at := strings.Index(line, name)
		if at < 0 {
			return out.String() + line
		}
		rest := line[at+len(name):]
		alone := !endsInWord.MatchString(line[:at]) && !beginsWithWord.MatchString(rest)
		out.WriteString(line[:at])
		if alone || beginsWithProcess.MatchString(rest) {
			out.WriteString(nameBegins + to + nameEnds)
		} else {
			out.WriteString(name)
		}
		line = rest
	}
}

var (
	endsInWord        = regexp.MustCompile(`[0-9A-Za-z]$`)
	beginsWithWord    = regexp.MustCompile(`^[0-9A-Za-z]`)
	beginsWithProcess = regexp.MustCompile(`^:?\d+:\d+|^:\d{4}`)
)

// nameBegins and nameEnds enclose a new name until the line is done, so that what it is glued to remains a word.
const nameBegins, nameEnds = "\ue000", "\ue001"
