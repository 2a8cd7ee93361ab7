package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/machine"
)

// DiagnosisSchema is the version of Diagnosis' JSON. Fields are added within a version; none changes its meaning.
const DiagnosisSchema = 1

// Case is what doctor looked at.
type Case struct {
	State    cluster.State
	Machines []Machine
	Cluster  ClusterOptions
	Autopsy  bool          // of IBV_WC_LOC_PROT_ERR, too
	Bench    *bench.Result // what was measured between the pods; nil: nothing was to be
}

// Diagnosis is what is wrong, the gravest and its root cause first.
type Diagnosis struct {
	SchemaVersion int       `json:"schemaVersion"`
	Pods          int       `json:"pods"`  // looked at
	Nodes         int       `json:"nodes"` // looked at
	Problems      []Problem `json:"problems"`
	Remarks       []Problem `json:"remarks,omitempty"` // worth knowing, and nothing wrong
	Autopsies     []Autopsy `json:"autopsies,omitempty"`
	Passed        []Tally   `json:"passed,omitempty"`
	Skipped       []Tally   `json:"skipped,omitempty"`  // not looked at, for no finding's sake
	Measured      *Measured `json:"measured,omitempty"` // nil: nothing was to be
}

// Problem is one finding, and everything that has it alike.
type Problem struct {
	check.Finding
	Machines     []string      `json:"machines,omitempty"` // that have it; none where it is one of the cluster
	Of           int           `json:"of,omitempty"`       // machines of that kind that were looked at
	Others       []string      `json:"others,omitempty"`   // other words in which it was found, each once
	Consequences []Consequence `json:"consequences,omitempty"`
}

// Autopsy is what an error of NCCL comes from, on the pods for which the answer is the same.
type Autopsy struct {
	Machines []string `json:"machines"`
	machine.Autopsy
}

// Consequence is what follows from a problem, or could not be judged because of it.
type Consequence struct {
	Check check.ID `json:"check"`
	Text  string   `json:"text,omitempty"`
}

// Tally is a check and on how many machines it went so.
type Tally struct {
	Check check.ID `json:"check"`
	Times int      `json:"times"`
	Why   string   `json:"why,omitempty"`
}

// Diagnose judges the cluster, every machine, and the machines with each other. What is alike on several is said once.
func Diagnose(c Case) Diagnosis {
	d := diagnosing{at: map[string]int{}, nodeOf: map[string]string{}, passed: map[check.ID]int{}, skipped: map[Tally]int{}}
	d.take(Cluster(c.State, c.Cluster), Machine{})
	for _, m := range c.Machines {
		d.nodeOf[m.Name] = m.Node
		switch {
		case m.Unreached != "": // Fleet says so
		case m.IsNode():
			d.nodes++
			d.take(machine.Node(m.Snapshot), m)
			d.watch(m)
		default:
			d.pods++
			d.take(machine.Pod(m.Snapshot, machine.Options{}), m)
			d.watch(m)
		}
	}
	d.take(Fleet(c.Machines), Machine{})
	measured := d.measure(c)
	d.foldAsked(gangsWithout(c.State))
	result := d.end()
	result.Measured = measured
	if c.Autopsy {
		result.Autopsies = autopsies(c.Machines)
	}
	return result
}

// autopsies say of every pod, with its node where that was looked at, what IBV_WC_LOC_PROT_ERR would come from there; the pods
// for which it is the same are together.
func autopsies(machines []Machine) []Autopsy {
	nodes := map[string]host.Snapshot{}
	for _, m := range machines {
		if m.IsNode() && m.Unreached == "" {
			nodes[m.Node] = m.Snapshot
		}
	}
	var all []Autopsy
	at := map[string]int{}
	for _, m := range machines {
		if m.IsNode() || m.Unreached != "" {
			continue
		}
		seen := []host.Snapshot{m.Snapshot}
		if node, there := nodes[m.Node]; there {
			seen = append(seen, node)
		}
		a := machine.LocalProtection(seen...)
		i, known := at[a.Verdict]
		if !known {
			i = len(all)
			at[a.Verdict] = i
			all = append(all, Autopsy{Autopsy: a})
		}
		all[i].Machines = append(all[i].Machines, m.Name)
	}
	return all
}

// diagnosing gathers reports.
type diagnosing struct {
	pods, nodes int
	problems    []Problem
	at          map[string]int // problems by what makes two of them the same
	nodeOf      map[string]string
	passed      map[check.ID]int
	skipped     map[Tally]int
	sightings   []sighting
}

// sighting is a finding, the machine that it is of, and its problem.
type sighting struct {
	check.Finding
	machine string // "": of none alone
	problem int
}

// watch judges what a machine counted, where it was read twice.
func (d *diagnosing) watch(m Machine) {
	if earlier := m.Snapshot.Earlier; earlier != nil {
		d.take(machine.Watch(*earlier, m.Snapshot), m)
	}
}

// take adds the report of one machine, or of the cluster or the fleet.
func (d *diagnosing) take(r check.Report, m Machine) {
	first := map[check.ID]int{}
	for _, f := range r.Findings {
		i := d.add(f, m)
		d.sightings = append(d.sightings, sighting{f, m.Name, i})
		if _, known := first[f.Check]; !known {
			first[f.Check] = i
		}
	}
	for _, id := range r.Passed {
		d.passed[id]++
	}
	for _, s := range r.Skipped {
		i, known := first[s.Needs]
		if s.Needs == "" || !known {
			d.skipped[Tally{Check: s.Check, Why: s.Why}]++
			continue
		}
		follow := Consequence{Check: s.Check, Text: s.Why}
		if !slices.Contains(d.problems[i].Consequences, follow) {
			d.problems[i].Consequences = append(d.problems[i].Consequences, follow)
		}
	}
}

// add puts a finding beside those of the same check and gravity of other machines of its kind.
func (d *diagnosing) add(f check.Finding, m Machine) int {
	if m.Name == "" {
		d.problems = append(d.problems, Problem{Finding: f})
		return len(d.problems) - 1
	}
	key := fmt.Sprintf("%t %s %s", m.IsNode(), f.Check, f.Status)
	if env := string(f.Subject); strings.HasPrefix(env, "env/") { // each variable is a matter of its own
		key += " " + env
	}
	i, there := d.at[key]
	if !there {
		i = len(d.problems)
		d.at[key] = i
		d.problems = append(d.problems, Problem{Finding: f})
	}
	p := &d.problems[i]
	if n := len(p.Machines); n == 0 || p.Machines[n-1] != m.Name {
		p.Machines = append(p.Machines, m.Name)
	}
	const most = 8
	if said := about(f); said != about(p.Finding) && !slices.Contains(p.Others, said) && len(p.Others) < most {
		p.Others = append(p.Others, said)
	}
	return i
}

// about is a finding in one line.
func about(f check.Finding) string {
	if f.Subject == "" || f.Subject == "pod" || f.Subject == "node" {
		return f.Summary
	}
	return string(f.Subject) + ": " + f.Summary
}

func (d *diagnosing) end() Diagnosis {
	result := Diagnosis{SchemaVersion: DiagnosisSchema, Pods: d.pods, Nodes: d.nodes, Problems: []Problem{}, Passed: tallies(d.passed)}
	d.foldFleet()
	d.foldNodes() // with what differs because of it
	for _, p := range d.problems {
		if p.Of = d.pods; len(p.Machines) == 0 {
			p.Of = 0
		} else if strings.HasPrefix(p.Machines[0], "node/") {
			p.Of = d.nodes
		}
		if p.Status <= check.Skipped {
			result.Remarks = append(result.Remarks, p)
		} else {
			result.Problems = append(result.Problems, p)
		}
	}
	slices.SortStableFunc(result.Problems, func(a, b Problem) int { return cmp.Compare(b.Status, a.Status) })
	for t, times := range d.skipped {
		t.Times = times
		result.Skipped = append(result.Skipped, t)
	}
	slices.SortFunc(result.Skipped, func(a, b Tally) int { return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Why, b.Why)) })
	return result
}

func tallies(times map[check.ID]int) []Tally {
	var all []Tally
	for id, n := range times {
		all = append(all, Tally{Check: id, Times: n})
	}
	slices.SortFunc(all, func(a, b Tally) int { return cmp.Compare(a.Check, b.Check) })
	return all
}

// ofAsking are what pods have that ask for no RDMA, or not for all of it.
var ofAsking = []check.ID{"device-allocated", "uverbs-openable"}

// foldAsked puts pods that were given nothing under what they did not ask for.
func (d *diagnosing) foldAsked(gangs []gang) {
	asks := map[string]int{} // pods that ask for too little, and the problem that says so
	for i, p := range d.problems {
		switch p.Check {
		case PodResources:
			asks[string(p.Subject)] = i
		case RDMARequested:
			for _, g := range gangs {
				for _, pod := range g.pods {
					if string(p.Subject) == "job/"+pod.Namespace+"/"+g.name {
						asks["pod/"+pod.Namespace+"/"+pod.Name] = i
					}
				}
			}
		}
	}
	var folded []int
	for i, p := range d.problems {
		asked := slices.ContainsFunc(p.Machines, func(pod string) bool { _, little := asks[pod]; return !little })
		if !slices.Contains(ofAsking, p.Check) || len(p.Machines) == 0 || asked {
			continue
		}
		c := &d.problems[asks[p.Machines[0]]]
		c.Consequences = append(append(c.Consequences, Consequence{Check: p.Check, Text: some(p.Machines) + ": " + p.Summary}), p.Consequences...)
		folded = append(folded, i)
	}
	d.drop(folded)
}

// drop takes out the problems at these places, which are in their order.
func (d *diagnosing) drop(places []int) {
	for _, i := range slices.Backward(places) {
		d.problems = slices.Delete(d.problems, i, i+1)
	}
}

// ofNode are what pods have because their node does, where that was looked at.
var ofNode = map[check.ID][]check.ID{
	"iommu-passthrough":  {"iommu-passthrough", machine.IOMMUOptions},
	machine.MemlockLimit: {machine.RuntimeMemlock},
	"port-active":        {machine.PhysicalUp},
	"carrier-present":    {machine.PhysicalUp},
	"gpudirect-possible": {machine.PeermemRegistered},
	machine.PCIeLink:     {machine.PCIeLink},
}

// foldNodes puts what pods have under what all of their nodes have.
func (d *diagnosing) foldNodes() {
	var folded []int
	for i, p := range d.problems {
		if len(p.Machines) == 0 || strings.HasPrefix(p.Machines[0], "node/") {
			continue
		}
		cause := slices.IndexFunc(d.problems, func(c Problem) bool {
			of := len(c.Machines) > 0 && strings.HasPrefix(c.Machines[0], "node/") && slices.Contains(ofNode[p.Check], c.Check) && c.Status > check.Unknown
			return of && !slices.ContainsFunc(p.Machines, func(pod string) bool { return !slices.Contains(c.Machines, "node/"+d.nodeOf[pod]) })
		})
		if cause >= 0 {
			c := &d.problems[cause]
			c.Status = max(c.Status, p.Status)
			c.Consequences = append(append(c.Consequences, Consequence{Check: p.Check, Text: some(p.Machines) + ": " + p.Summary}), p.Consequences...)
			folded = append(folded, i)
		}
	}
	d.drop(folded)
}

// sameAs are what differences between machines follow from, where one of the machines has it.
var sameAs = map[check.ID][]check.ID{
	FleetMemlock:   {machine.MemlockLimit, machine.RuntimeMemlock, machine.IPCLockEffective, "node-memlock"},
	FleetMTU:       {machine.RailMTU},
	FleetRate:      {machine.RateExpected, "rate-uniform", "port-active", machine.PhysicalUp},
	FleetFirmware:  {machine.FirmwareUniform},
	FleetGPUDirect: {"gpudirect-possible", machine.PeermemRegistered},
	FleetVerbs:     {machine.VerbsLibrary},
	FleetRails: {
		"device-allocated", "uverbs-openable", "port-active", "gid-usable", "carrier-present", "allocation-consistent", "rdma-namespace", "library-devices",
		PodResources, machine.VerbsLibrary, machine.PhysicalUp, machine.VFGUID,
	},
	FleetLinkLayer: {"link-layer-uniform"},
	FleetGIDType:   {"gid-usable"},
	RailSubnet:     {"gid-usable"},
}

// sameOn is the problem of a machine that a difference names and follows from, the nearest one first; -1 where there is none.
func (d *diagnosing) sameOn(p Problem) int {
	text := words(p.Finding)
	for _, id := range sameAs[p.Check] {
		i := slices.IndexFunc(d.problems, func(cause Problem) bool {
			return cause.Check == id && cause.Status > check.Unknown && slices.ContainsFunc(cause.Machines, func(name string) bool { return says(text, name) })
		})
		if i >= 0 {
			return i
		}
	}
	return -1
}

// says reports whether a text has the name of a machine, whole: pod/train/h-kim-1 is not in pod/train/h-kim-10.
func says(text, name string) bool {
	for {
		_, rest, there := strings.Cut(text, name)
		if !there || rest == "" || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-.", rune(rest[0])) {
			return there
		}
		text = rest
	}
}

// foldFleet puts what differs between machines under what one of them has, which is as grave as the difference.
func (d *diagnosing) foldFleet() {
	var left []Problem
	for _, p := range d.problems {
		i := d.sameOn(p)
		if i < 0 {
			left = append(left, p)
			continue
		}
		cause := slices.IndexFunc(left, func(q Problem) bool {
			return q.Check == d.problems[i].Check && slices.Equal(q.Machines, d.problems[i].Machines)
		})
		if cause < 0 {
			left = append(left, p)
			continue
		}
		left[cause].Status = max(left[cause].Status, p.Status)
		left[cause].Consequences = append(append(left[cause].Consequences, Consequence{Check: p.Check, Text: p.Summary}), p.Consequences...)
	}
	d.problems = left
}

// Worst is the gravest status of the problems.
func (d Diagnosis) Worst() check.Status {
	worst := check.Pass
	for _, p := range d.Problems {
		worst = max(worst, p.Status)
	}
	return worst
}

// Unknown reports whether something that matters could not be read.
func (d Diagnosis) Unknown() bool {
	return slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Status == check.Unknown })
}
