package podcli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/report"
)

// detection is what detect prints, as one value for every format.
type detection struct {
	rail.Resolution
	Findings []check.Finding `json:"findings,omitempty"`
	Topology *topology       `json:"topology,omitempty"`
}

// topology is the distance of each GPU to each rail.
type topology struct {
	GPUs   []host.PCIAddress `json:"gpus"`
	Rails  []string          `json:"rails"`
	Matrix [][]rail.Distance `json:"matrix"` // [gpu][rail]
}

func newDetect(streams Streams) *cobra.Command {
	var m machine
	var explain, withTopology bool
	format := "table"
	cmd := &cobra.Command{
		Use:   "detect",
		Short: "Show the rails of this pod, and every device that was turned away, with the reason",
		Long: `detect shows the RDMA devices that this pod owns and can use, and why each of the others is not used.

Exit status: 0 when there are rails and nothing failed; 1 when there is no rail or an allocated device is not usable;
3 when something that matters could not be read; 2 for a wrong command line.`,
		Example: `  railhead-pod detect
  railhead-pod detect --explain               the evidence for every device
  railhead-pod detect --topology              how far each GPU is from each rail
  railhead-pod detect -o json --root pod.txtar`,
		Args:    noArguments,
		PreRunE: fromEnvironment,
		RunE: func(*cobra.Command, []string) error {
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
			return d.verdict()
		},
	}
	choiceFlag(cmd, &format, "output", "o", "form of the output", "table", "wide", "json", "yaml")
	cmd.Flags().BoolVar(&explain, "explain", false, "print the evidence for every device")
	cmd.Flags().BoolVar(&withTopology, "topology", false, "print how far each GPU is from each rail, as nvidia-smi topo -m names it")
	m.scopeFlag(cmd)
	m.rootFlag(cmd)
	return cmd
}

func detect(s host.Snapshot, scope rail.Scope, withTopology bool) detection {
	d := detection{Resolution: rail.Resolve(s, scope)}
	var noRail *check.Finding
	if d.Findings, noRail = explained(d.Resolution, s); noRail != nil {
		d.Findings = append(d.Findings, *noRail)
	}
	if withTopology {
		d.Topology = &topology{Matrix: rail.Matrix(s, d.Rails), GPUs: []host.PCIAddress{}, Rails: []string{}}
		for _, g := range rail.GPUs(s) {
			d.Topology.GPUs = append(d.Topology.GPUs, g.Function.Address)
		}
		for _, r := range d.Rails {
			d.Topology.Rails = append(d.Topology.Rails, r.Name())
		}
		_, findings := nccl.Compute(d.Rails, s, nccl.Policy{})
		for _, f := range findings {
			if f.Check == nccl.GPUDirectDistance || f.Check == nccl.GPUDirectPossible || f.Check == nccl.IOMMUPassthrough {
				d.Findings = append(d.Findings, f)
			}
		}
	}
	return d
}

// verdict is the exit code; the findings say why it is not 0.
func (d detection) verdict() error {
	switch {
	case check.Worst(d.Findings) == check.Fail:
		return exitError{code: exitFault}
	case hasUnknown(d.Findings):
		return exitError{code: exitUnknown}
	}
	return nil
}

func hasUnknown(findings []check.Finding) bool {
	for _, f := range findings {
		if f.Status == check.Unknown {
			return true
		}
	}
	return false
}

func (d detection) write(streams Streams, wide, explain bool) error {
	if len(d.Rails) > 0 {
		if err := d.rails(wide).Write(streams.Out); err != nil {
			return err
		}
	}
	if len(d.TurnedAway) > 0 {
		if len(d.Rails) > 0 {
			fmt.Fprintln(streams.Out)
		}
		if err := d.turnedAway(wide).Write(streams.Out); err != nil {
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
		row := []string{r.Name(), r.Netdev, address, gid, r.Rate.String(), pci, f.NUMANode.String(), nearest(r), firstOf(r.Sources)}
		if wide {
			row[len(row)-1] = strings.Join(r.Sources, ", ")
			row = append(row, r.LinkLayer, r.MTU.String(), f.Driver.String(), f.PhysFn.String(), f.IOMMUType.String())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func nearest(r rail.Rail) string {
	var names []string
	for _, p := range r.Nearest {
		names = append(names, fmt.Sprintf("%d", p.GPU))
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ",") + " " + string(r.Nearest[0].Distance)
}

// firstOf names the first source and counts the others.
func firstOf(sources []string) string {
	if len(sources) < 2 {
		return strings.Join(sources, "")
	}
	return fmt.Sprintf("%s (+%d)", sources[0], len(sources)-1)
}

// turnedAway joins the devices with one reason into a row, unless wide: a node can show more than a hundred VFs.
func (d detection) turnedAway(wide bool) report.Table {
	t := report.Table{Columns: []string{"TURNED AWAY", "REASON", "GIVEN BY"}}
	var names [][]string
	for _, away := range d.TurnedAway {
		row := []string{"", away.Reason, firstOf(away.Sources)}
		if last := len(t.Rows) - 1; last >= 0 && !wide && slices.Equal(t.Rows[last][1:], row[1:]) {
			names[last] = append(names[last], away.Name())
			continue
		}
		t.Rows = append(t.Rows, row)
		names = append(names, []string{away.Name()})
	}
	for i := range t.Rows {
		t.Rows[i][0] = shorten(names[i])
	}
	return t
}

// shorten lists few names and counts many.
func shorten(names []string) string {
	const shown = 4
	if len(names) <= shown+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

func (d detection) explain(w io.Writer) {
	for _, r := range d.Rails {
		fmt.Fprintln(w)
		report.Line(w, "%s is a rail", r.Name())
		evidence(w, r.Evidence)
	}
	for _, t := range d.TurnedAway {
		fmt.Fprintln(w)
		report.Line(w, "%s is turned away: %s [%s]", t.Name(), t.Reason, t.Cause)
		evidence(w, t.Evidence)
		for _, source := range t.Sources {
			report.Line(w, "    %s: names it", source)
		}
	}
}

func evidence(w io.Writer, all []check.Evidence) {
	for _, e := range all {
		report.Line(w, "    %s", e)
	}
}

func (t *topology) write(w io.Writer, rails []rail.Rail) error {
	if len(t.GPUs) == 0 {
		_, err := fmt.Fprintln(w, "no GPU is visible here")
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
		report.Line(w, "%s: nearest GPU %s", r.Name(), orNone(nearest(r)))
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "not known"
	}
	return s
}
