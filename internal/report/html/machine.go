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
	"github.com/railhead/railhead/internal/rules/machine"
)

// Machine is the picture of one pod or node: GPU, PCIe switch, NIC, rail and subnet, in columns.
type Machine struct {
	Name   string       `json:"name"`
	Status check.Status `json:"status"`
	Note   string       `json:"note"` // 8 rails, 8 GPUs; what is wrong
	Parts  []Part       `json:"parts"`
	Ties   []Tie        `json:"ties"`
	Height float64      `json:"height"` // rows
}

// Part is one thing of the picture.
type Part struct {
	Column int          `json:"column"`
	Row    float64      `json:"row"`
	Label  string       `json:"label"`
	Below  string       `json:"below,omitempty"` // second line
	Says   []string     `json:"says,omitempty"`  // when it is pointed at
	Status check.Status `json:"status"`
}

// Tie joins two parts, by their numbers.
type Tie struct {
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

// mostMachines are drawn, the worst first: nobody leafs through more.
const mostMachines = 64

// machinesOf draws machines that were looked at.
func machinesOf(all []rules.Machine, problems []rules.Problem) (drawn []Machine, left int) {
	graveOf := map[check.Ref]check.Status{}
	for _, p := range problems {
		for _, name := range p.Machines {
			graveOf[name] = max(graveOf[name], p.Status)
		}
	}
	for _, m := range all {
		if m.Unreached != "" {
			drawn = append(drawn, Machine{Name: m.Ref.String(), Status: max(check.Unknown, graveOf[m.Ref]), Note: m.Unreached})
			continue
		}
		scope, found := rail.Pod, machine.Pod(m.Snapshot, machine.Options{}).Findings
		if m.IsNode() {
			scope, found = rail.Host, machine.Node(m.Snapshot).Findings
		}
		drawn = append(drawn, draw(m.Ref.String(), m.Snapshot, scope, found, graveOf[m.Ref]))
	}
	return worst(drawn)
}

// benchMachines draws the pods of a bench: whole where there is a snapshot, else the rails that they have.
func benchMachines(r bench.Result) (drawn []Machine, left int) {
	snapshots := benchSnapshots(r)
	for i, pod := range r.Pods {
		ref := check.PodRef("", pod.Name)
		name := ref.String()
		at := slices.IndexFunc(snapshots, func(m rules.Machine) bool { return m.Ref == ref })
		blamed := blame(r, i)
		if at < 0 {
			drawn = append(drawn, drawRails(name, pod, blamed))
			continue
		}
		s := snapshots[at].Snapshot
		found := slices.Concat(machine.Pod(s, machine.Options{}).Findings, blamed)
		drawn = append(drawn, draw(name, s, rail.Pod, found, check.Worst(blamed)))
	}
	return worst(drawn)
}

// benchSnapshots are the snapshots of a bench with the names of their pods.
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

// blame are the culprits of a bench that a pod has a part in, as findings about its devices.
func blame(r bench.Result, pod int) []check.Finding {
	if r.Attribution == nil || r.Matrix == nil {
		return nil
	}
	var all []check.Finding
	for _, c := range r.Attribution.Culprits {
		if !slices.Contains(c.Pods, pod) {
			continue
		}
		for i, rail := range r.Pods[pod].Rails {
			if c.Rail < 0 || c.Rail == i {
				all = append(all, check.Finding{Status: check.Fail, Subject: check.DeviceRef(rail.Device), Summary: culprit(c, r.Matrix)})
			}
		}
	}
	return all
}

// worst are the machines worth a picture.
func worst(all []Machine) (drawn []Machine, left int) {
	worstFirst(all)
	if len(all) > mostMachines {
		return all[:mostMachines:mostMachines], len(all) - mostMachines
	}
	return all, 0
}

func worstFirst(all []Machine) {
	slices.SortStableFunc(all, func(a, b Machine) int { return cmp.Compare(b.Status, a.Status) })
}

// drawing is a picture while it is drawn.
type drawing struct {
	Machine
	found []check.Finding
}

// draw draws a machine.
func draw(name string, s host.Snapshot, scope rail.Scope, found []check.Finding, grave check.Status) Machine {
	d := drawing{Machine: Machine{Name: name, Status: max(check.Worst(found), grave)}, found: found}
	resolved := rail.Resolve(s, scope)
	gpus := rail.GPUs(s)
	d.Note = number(len(resolved.Rails), "rail") + ", " + number(len(gpus), "GPU")
	nics := nicsOf(s, resolved)
	row := 0.0
	var subnets []subnet
	for _, g := range groups(gpus, nics) {
		rows := float64(max(len(g.gpus), len(g.nics)))
		at := -1
		if g.name != "" {
			at = d.add(Part{Column: switchColumn, Row: row + (rows-1)/2, Label: g.name, Below: g.address, Says: []string{g.numa}})
		}
		for i, gpu := range g.gpus {
			part := d.add(gpuPart(gpu, row+spread(i, len(g.gpus), rows)))
			d.tie(part, at)
		}
		for i, n := range g.nics {
			y := row + spread(i, len(g.nics), rows)
			nic := d.add(d.judge(nicPart(n, y), n.refs()...))
			d.tie(at, nic)
			if n.rail != nil {
				subnets = d.railAndSubnet(s, *n.rail, nic, y, subnets)
			}
		}
		row += rows + 0.35
	}
	d.place(subnets)
	d.Height = max(row, 1)
	return d.Machine
}

// drawRails draws a pod of which no more is known than its rails.
func drawRails(name string, pod bench.Pod, found []check.Finding) Machine {
	d := drawing{Machine: Machine{Name: name, Status: check.Worst(found), Note: number(len(pod.Rails), "rail"), Height: float64(max(1, len(pod.Rails)))}, found: found}
	if pod.Node != "" {
		d.Note += " on " + pod.Node
	}
	var subnets []subnet
	for i, r := range pod.Rails {
		y := float64(i)
		part := Part{Column: nicColumn, Row: y, Label: fmt.Sprintf("%s:%d", r.Device, r.Port)}
		if r.Ceiling.Rate > 0 {
			part.Below = r.Ceiling.Rate.String() + " payload"
		}
		nic := d.add(d.judge(part, check.DeviceRef(r.Device)))
		line := d.add(Part{Column: railColumn, Row: y, Label: cmp.Or(r.Netdev, r.Name), Below: r.Address, Status: d.Parts[nic].Status})
		d.tie(nic, line)
		if p, err := netip.ParsePrefix(r.Address); err == nil {
			subnets = joinSubnet(subnets, p.Masked().String(), line)
		}
	}
	d.place(subnets)
	return d.Machine
}

func (d *drawing) add(p Part) int {
	d.Parts = append(d.Parts, p)
	return len(d.Parts) - 1
}

// tie joins two parts that are there; it is as bad as the worse one.
func (d *drawing) tie(from, to int) {
	if from >= 0 && to >= 0 {
		d.Ties = append(d.Ties, Tie{from, to, max(d.Parts[from].Status, d.Parts[to].Status)})
	}
}

// judge gives a part the findings that speak of it.
func (d *drawing) judge(p Part, refs ...check.Ref) Part {
	for _, f := range d.found {
		if f.Status > check.Skipped && slices.ContainsFunc(refs, f.Concerns) {
			p.Status = max(p.Status, f.Status)
			p.Says = append(p.Says, f.Summary)
		}
	}
	return p
}

// subnet is the rails of one network.
type subnet struct {
	name  string
	rails []int // parts
}

func joinSubnet(all []subnet, name string, part int) []subnet {
	for i := range all {
		if all[i].name == name {
			all[i].rails = append(all[i].rails, part)
			return all
		}
	}
	return append(all, subnet{name, []int{part}})
}

// place puts each subnet beside the middle of its rails.
func (d *drawing) place(subnets []subnet) {
	for _, s := range subnets {
		row := 0.0
		for _, r := range s.rails {
			row += d.Parts[r].Row / float64(len(s.rails))
		}
		at := d.add(Part{Column: subnetColumn, Row: row, Label: s.name})
		if len(s.rails) > 1 {
			d.Parts[at].Says = []string{number(len(s.rails), "rail") + " in one subnet"}
		}
		for _, r := range s.rails {
			d.tie(r, at)
		}
	}
}

// spread is the row of the i-th of n things that share so many rows.
func spread(i, n int, rows float64) float64 { return (float64(i)+0.5)*rows/float64(n) - 0.5 }
