package podcli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/words"
)

// detection is the output of detect.
type detection struct {
	rail.Resolution
	Findings []check.Finding `json:"findings,omitempty"`
	Topology *topology       `json:"topology,omitempty"`
}

// topology has the distance of each GPU to each rail.
type topology struct {
	GPUs   []host.PCIAddress `json:"gpus"`
	Rails  []string          `json:"rails"`
	Matrix [][]rail.Distance `json:"matrix"` // [gpu][rail]
}

func newDetect(streams Streams) *command {
	var m machine
	var explain, withTopology bool
	format := "table"
	c := newCommand("detect")
	c.short = "Show the rails of this pod, and why other devices are not used"
	c.long = `detect shows the RDMA devices that this pod owns and can use, and why each of the others is not used.

Exit status: 0 if there are rails and nothing failed; 1 if there is no rail or an allocated device cannot be used; 3 if
something that matters could not be read; 2 for a wrong command line.`
	c.example = `  railhead-pod detect
  railhead-pod detect --explain               the evidence for every device
  railhead-pod detect --topology              distance of each GPU to each rail
  railhead-pod detect -o json --root pod.txtar`
	c.run = func([]string) error {
		here, err := m.open()
		if err != nil {
			return err
		}
		s := here.Snapshot()
		d := detect(s, rail.Scope(m.scope), withTopology)
		if format == "json" || format == "yaml" {
			err = report.Encode(streams.Out, format, d)
		} else {
			err = d.write(streams, format == "wide", explain)
		}
		if err != nil {
			return err
		}
		return d.exitError()
	}
	outputFlag(c.flags, &format, "table", "wide", "json", "yaml")
	c.flags.BoolVar(&explain, "explain", false, "print the evidence for every device")
	c.flags.BoolVar(&withTopology, "topology", false,
		"print the distance of each GPU to each rail, in the words of nvidia-smi topo -m")
	m.scopeFlag(c.flags)
	m.rootFlag(c.flags)
	return c
}

func detect(s host.Snapshot, scope rail.Scope, withTopology bool) detection {
	d := detection{Resolution: rail.Resolve(s, scope)}
	var noRail *check.Finding
	if d.Findings, noRail = railFindings(d.Resolution, s); noRail != nil {
		d.Findings = append(d.Findings, *noRail)
	}
	if withTopology {
		d.Topology = &topology{Matrix: rail.Matrix(s, d.Rails), GPUs: []host.PCIAddress{}, Rails: d.Names()}
		for _, g := range rail.GPUs(s) {
			d.Topology.GPUs = append(d.Topology.GPUs, g.Function.Address)
		}
		_, findings := nccl.Compute(d.Rails, s, nccl.Policy{})
		for _, f := range findings {
			if f.Check == nccl.GPUDirectDistance || f.Check == nccl.GPUDirectPossible ||
				f.Check == nccl.IOMMUPassthrough {
				d.Findings = append(d.Findings, f)
			}
		}
	}
	return d
}

func (d detection) exitError() error {
	if check.Worst(d.Findings) == check.Fail {
		return exit.Error{Code: exit.Fault}
	}
	return unknownError(d.Findings)
}

func (d detection) write(streams Streams, wide, explain bool) error {
	if len(d.Rails) > 0 {
		if err := d.rails(wide).Write(streams.Out); err != nil {
			return err
		}
	}
	if len(d.Rejected) > 0 {
		if len(d.Rails) > 0 {
			fmt.Fprintln(streams.Out)
		}
		if err := d.unused(wide).Write(streams.Out); err != nil {
			return err
		}
	}
	if explain {
		d.explain(streams.Out)
	}
	if d.Topology != nil {
		fmt.Fprintln(streams.Out)
		if err := d.Topology.write(streams.Out, d.Rails); err != nil {
			return err
		}
	}
	detail := report.Brief
	if explain {
		detail = report.Full
	}
	report.Findings(streams.Err, d.Findings, detail)
	return nil
}

func (d detection) rails(wide bool) report.Table {
	t := report.Table{Columns: []string{"RAIL", "NETDEV", "ADDRESS", "GID", "RATE", "PCI", "NUMA", "GPU", "GIVEN BY"}}
	if wide {
		t.Columns = append(t.Columns, "LINK LAYER", "MTU", "DRIVER", "PF", "IOMMU")
	}
	for _, r := range d.Rails {
		address, gid := "", ""
		if r.GID != nil {
			address, gid = r.GID.IP().String(), fmt.Sprintf("%d (%s)", r.GID.Index, r.GID.Type)
		}
		f := r.Function.Value
		pci := ""
		if r.Function.IsKnown() {
			pci = f.Address.String()
		}
		row := []string{
			r.Name(), r.Netdev, address, gid, r.Rate.String(), pci, f.NUMANode.String(), nearest(r), firstOf(r.Sources),
		}
		if wide {
			row[len(row)-1] = strings.Join(r.Sources, ", ")
			row = append(row, r.LinkLayer, r.MTU.String(), f.Driver.String(), f.PhysFn.String(), f.IOMMUType.String())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func nearest(r rail.Rail) string {
	if len(r.Nearest) == 0 {
		return ""
	}
	numbers := make([]string, len(r.Nearest))
	for i, p := range r.Nearest {
		numbers[i] = strconv.Itoa(p.GPU)
	}
	return strings.Join(numbers, ",") + " " + string(r.Nearest[0].Distance)
}

func firstOf(sources []string) string {
	if len(sources) < 2 {
		return strings.Join(sources, "")
	}
	return fmt.Sprintf("%s (+%d)", sources[0], len(sources)-1)
}

// unused joins the devices with one reason into a row, unless wide: a node can show more than a hundred VFs.
func (d detection) unused(wide bool) report.Table {
	t := report.Table{Columns: []string{"NOT USED", "REASON", "GIVEN BY"}}
	var names [][]string
	for _, device := range d.Rejected {
		row := []string{"", device.Reason, firstOf(device.Sources)}
		if last := len(t.Rows) - 1; last >= 0 && !wide && slices.Equal(t.Rows[last][1:], row[1:]) {
			names[last] = append(names[last], device.Name())
			continue
		}
		t.Rows = append(t.Rows, row)
		names = append(names, []string{device.Name()})
	}
	for i := range t.Rows {
		t.Rows[i][0] = words.Few(names[i], 4)
	}
	return t
}

func (d detection) explain(w io.Writer) {
	for _, r := range d.Rails {
		fmt.Fprintln(w)
		report.Line(w, "%s is a rail", r.Name())
		writeEvidence(w, r.Evidence)
	}
	for _, t := range d.Rejected {
		fmt.Fprintln(w)
		report.Line(w, "%s is not used: %s [%s]", t.Name(), t.Reason, t.Cause)
		writeEvidence(w, t.Evidence)
		for _, source := range t.Sources {
			report.Line(w, "    named by %s", source)
		}
	}
}

func writeEvidence(w io.Writer, all []check.Evidence) {
	for _, e := range all {
		report.Line(w, "    %s", e)
	}
}

func (t *topology) write(w io.Writer, rails []rail.Rail) error {
	if len(t.GPUs) == 0 {
		_, err := fmt.Fprintln(w, "no GPU is visible in this container")
		return err
	}
	table := report.Table{Columns: append([]string{"", "PCI"}, t.Rails...)}
	table.Columns[0] = "GPU"
	for g, row := range t.Matrix {
		cells := []string{fmt.Sprintf("GPU%d", g), t.GPUs[g].String()}
		for _, distance := range row {
			cells = append(cells, string(distance))
		}
		table.Rows = append(table.Rows, cells)
	}
	if err := table.Write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, r := range rails {
		report.Line(w, "%s: nearest GPU %s", r.Name(), cmp.Or(nearest(r), "unknown"))
	}
	return nil
}
