package html

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/benchrules"
	"github.com/railhead/railhead/internal/rules/machine"
)

// Machine is the picture of one pod or node: GPU, PCIe switch, NIC, rail and subnet, in columns.
type Machine struct {
	Name   string       `json:"name"`
	Status check.Status `json:"status"`
	Note   string       `json:"note"` // 8 rails, 8 GPUs; why it was not examined
	Parts  []Part       `json:"parts"`
	Edges  []Edge       `json:"edges"`
	Height float64      `json:"height"` // rows
}

// Part is one box of the picture.
type Part struct {
	Column  int          `json:"column"`
	Row     float64      `json:"row"`
	Label   string       `json:"label"`
	Below   string       `json:"below,omitempty"`   // second line
	Details []string     `json:"details,omitempty"` // in the tooltip
	Status  check.Status `json:"status"`
}

// Edge joins two parts, by their indices.
type Edge struct {
	From   int          `json:"from"`
	To     int          `json:"to"`
	Status check.Status `json:"status"`
}

// Columns of the picture.
const (
	gpuColumn = iota
	switchColumn
	nicColumn
	railColumn
	subnetColumn
)

// machinesOf draws examined machines, the worst first.
func machinesOf(all []rules.Machine, problems []rules.Problem) (drawn []Machine, notDrawn int) {
	worst := map[check.Ref]check.Status{}
	for _, p := range problems {
		for _, ref := range p.Machines {
			worst[ref] = max(worst[ref], p.Status)
		}
	}
	for _, m := range all {
		if m.Unreached != "" {
			status := max(check.Unknown, worst[m.Ref])
			drawn = append(drawn, Machine{Name: m.Ref.String(), Status: status, Note: m.Unreached})
			continue
		}
		scope, found := rail.Pod, machine.Pod(m.Snapshot, machine.Options{}).Findings
		if m.IsNode() {
			scope, found = rail.Host, machine.Node(m.Snapshot).Findings
		}
		drawn = append(drawn, draw(m.Ref.String(), m.Snapshot, scope, found, worst[m.Ref]))
	}
	return firstMachines(drawn)
}

// benchMachines draws the pods of a bench. Without a snapshot of a pod it draws only the rails.
func benchMachines(r bench.Result, slow []benchrules.SlowPart) (drawn []Machine, notDrawn int) {
	snapshots := benchSnapshots(r)
	for i, pod := range r.Pods {
		ref := check.PodRef("", pod.Name)
		blamed := slowRails(r, i, slow)
		at := slices.IndexFunc(snapshots, func(m rules.Machine) bool { return m.Ref == ref })
		if at < 0 {
			drawn = append(drawn, drawRails(ref.String(), pod, blamed))
			continue
		}
		s := snapshots[at].Snapshot
		found := slices.Concat(machine.Pod(s, machine.Options{}).Findings, blamed)
		drawn = append(drawn, draw(ref.String(), s, rail.Pod, found, check.Worst(blamed)))
	}
	return firstMachines(drawn)
}

// benchSnapshots returns the snapshots of a bench with the names of their pods.
func benchSnapshots(r bench.Result) []rules.Machine {
	var all []rules.Machine
	for i, s := range r.Machines {
		name := s.Pod.Value
		if name == "" && i < len(r.Pods) {
			name = r.Pods[i].Name
		}
		all = append(all, rules.Machine{Ref: check.PodRef("", name), Node: s.Node.Value, Snapshot: s})
	}
	return all
}

// slowRails returns the slow parts of the fabric that include a pod, as findings about its devices.
func slowRails(r bench.Result, pod int, slow []benchrules.SlowPart) []check.Finding {
	var all []check.Finding
	for _, part := range slow {
		for i, rail := range r.Pods[pod].Rails {
			if slices.Contains(part.Pods, pod) && (part.Rail < 0 || part.Rail == i) {
				all = append(all, check.Finding{
					Status:  part.Finding.Status,
					Subject: check.DeviceRef(rail.Device),
					Summary: headline(rules.Problem{Finding: part.Finding}),
				})
			}
		}
	}
	return all
}

// firstMachines returns the worst machines, and how many it leaves out.
func firstMachines(all []Machine) (drawn []Machine, notDrawn int) {
	const most = 64
	sortMachines(all)
	shown := min(most, len(all))
	return all[:shown:shown], len(all) - shown
}

// sortMachines puts the worst machines first.
func sortMachines(all []Machine) {
	slices.SortStableFunc(all, func(a, b Machine) int { return cmp.Compare(b.Status, a.Status) })
}

// drawing is a picture in progress.
type drawing struct {
	Machine
	found   []check.Finding
	subnets []subnet
}

// subnet is a network and the indices of its rails.
type subnet struct {
	name  string
	rails []int
}

func draw(name string, s host.Snapshot, scope rail.Scope, found []check.Finding, least check.Status) Machine {
	resolved := rail.Resolve(s, scope)
	gpus := rail.GPUs(s)
	d := drawing{found: found}
	d.Name, d.Status = name, max(check.Worst(found), least)
	d.Note = number(len(resolved.Rails), "rail") + ", " + number(len(gpus), "GPU")
	if scope == rail.Host && len(resolved.Rails) == 0 {
		d.Note = "no rail of its own, " + number(len(gpus), "GPU")
	}
	row := 0.0
	for _, g := range groups(gpus, nicsOf(s, resolved)) {
		rows := float64(max(len(g.gpus), len(g.nics)))
		bridge := -1
		if g.name != "" {
			bridge = d.add(Part{
				Column:  switchColumn,
				Row:     row + (rows-1)/2,
				Label:   g.name,
				Below:   g.address,
				Details: []string{g.numa},
			})
		}
		for i, gpu := range g.gpus {
			gpu.Row = row + spread(i, len(g.gpus), rows)
			d.join(d.add(gpu), bridge)
		}
		for i, n := range g.nics {
			part := d.judge(nicPart(n, scope), n.refs()...)
			part.Row = row + spread(i, len(g.nics), rows)
			nic := d.add(part)
			d.join(bridge, nic)
			if n.rail != nil {
				d.addRail(s, *n.rail, nic)
			}
		}
		row += rows + 0.35
	}
	d.addSubnets()
	d.Height = max(row, 1)
	return d.Machine
}

// drawRails draws a pod if only its rails are known.
func drawRails(name string, pod bench.Pod, found []check.Finding) Machine {
	d := drawing{found: found}
	d.Name, d.Status = name, check.Worst(found)
	d.Note = number(len(pod.Rails), "rail")
	if pod.Node != "" {
		d.Note += " on " + pod.Node
	}
	for i, r := range pod.Rails {
		part := Part{Column: nicColumn, Row: float64(i), Label: fmt.Sprintf("%s:%d", r.Device, r.Port)}
		if r.Ceiling.Rate > 0 {
			part.Below = r.Ceiling.Rate.String()
			part.Details = []string{"payload ceiling " + r.Ceiling.Rate.String()}
		}
		part = d.judge(part, check.DeviceRef(r.Device))
		nic := d.add(part)
		line := d.add(Part{
			Column: railColumn,
			Row:    part.Row,
			Label:  cmp.Or(r.Netdev, r.Name),
			Below:  r.Address,
			Status: part.Status,
		})
		d.join(nic, line)
		if p, err := netip.ParsePrefix(r.Address); err == nil {
			d.addToSubnet(p.Masked().String(), line)
		}
	}
	d.addSubnets()
	d.Height = float64(max(1, len(pod.Rails)))
	return d.Machine
}

func (d *drawing) add(p Part) int {
	d.Parts = append(d.Parts, p)
	return len(d.Parts) - 1
}

// join adds an edge, which is as bad as the worse part. A negative index is no part.
func (d *drawing) join(from, to int) {
	if from >= 0 && to >= 0 {
		d.Edges = append(d.Edges, Edge{from, to, max(d.Parts[from].Status, d.Parts[to].Status)})
	}
}

// judge adds the findings about the refs to a part.
func (d *drawing) judge(p Part, refs ...check.Ref) Part {
	for _, f := range d.found {
		if f.Status > check.Skipped && slices.ContainsFunc(refs, f.Concerns) {
			p.Status = max(p.Status, f.Status)
			p.Details = append(p.Details, f.Summary)
		}
	}
	return p
}

func (d *drawing) addToSubnet(name string, rail int) {
	i := slices.IndexFunc(d.subnets, func(s subnet) bool { return s.name == name })
	if i < 0 {
		d.subnets = append(d.subnets, subnet{name, []int{rail}})
		return
	}
	d.subnets[i].rails = append(d.subnets[i].rails, rail)
}

// addSubnets puts each subnet next to the middle of its rails.
func (d *drawing) addSubnets() {
	for _, s := range d.subnets {
		p := Part{Column: subnetColumn, Label: s.name}
		for _, r := range s.rails {
			p.Row += d.Parts[r].Row / float64(len(s.rails))
		}
		if len(s.rails) > 1 {
			p.Details = []string{number(len(s.rails), "rail") + " in one subnet"}
		}
		at := d.add(p)
		for _, r := range s.rails {
			d.join(r, at)
		}
	}
}

// spread returns the row of the i-th of n parts that share a number of rows.
func spread(i, n int, rows float64) float64 { return (float64(i)+0.5)*rows/float64(n) - 0.5 }
