package host

import (
	"errors"
	"strconv"
	"strings"
)

// Topology is the file from which NCCL takes the paths between GPUs and NICs: NCCL_TOPO_FILE, or the file that
// nvidia-topologyd writes in virtual machines (NCCL src/graph/topo.cc ncclTopoGetSystem).
type Topology struct {
	Path      string                 `json:"path"`
	Origin    string                 `json:"origin,omitempty"` // of the variable; empty: NCCL finds the file itself
	Functions Fact[[]PlacedFunction] `json:"functions,omitzero"`
}

// PlacedFunction is a PCI function with the path that a topology file gives it. Its host bridge is a CPU of the file.
type PlacedFunction struct {
	Address PCIAddress `json:"address"`
	NUMA    int        `json:"numa"`
	Path    PCIPath    `json:"path"`
}

// Place returns the place of a function by the file; false if the file does not have it.
func (t *Topology) Place(a PCIAddress) (PlacedFunction, bool) {
	if t == nil {
		return PlacedFunction{}, false
	}
	for _, f := range t.Functions.Value {
		if f.Address == a {
			return f, true
		}
	}
	return PlacedFunction{}, false
}

var (
	errNoSystem = errors.New("not a topology of NCCL: it has no <system>")
	errNoPCI    = errors.New("it has no PCI function")
)

// ParseTopology reads the PCI functions of a topology file of NCCL: <cpu numaid> elements with nested <pci busid>
// elements (NCCL src/graph/xml.cc). Other elements are passed over. A bridge whose address is none of PCI, as in
// files for virtual machines, gets one that no function has.
func ParseTopology(text string) ([]PlacedFunction, error) {
	p := topologyParser{}
	for {
		_, rest, found := strings.Cut(text, "<")
		if !found {
			break
		}
		if comment, isComment := strings.CutPrefix(rest, "!--"); isComment {
			_, text, _ = strings.Cut(comment, "-->")
			continue
		}
		tag, after, closed := strings.Cut(rest, ">")
		if !closed {
			break
		}
		p.tag(tag)
		text = after
	}
	switch {
	case !p.system:
		return nil, errNoSystem
	case len(p.functions) == 0:
		return nil, errNoPCI
	}
	return p.functions, nil
}

// topologyParser goes through the tags of a file.
type topologyParser struct {
	system    bool
	cpu       string
	numa      int
	above     []PCIAddress // the bridges around the present tag
	unnamed   uint8        // bridges without an address of PCI
	functions []PlacedFunction
}

func (p *topologyParser) tag(tag string) {
	name, attributes, _ := strings.Cut(strings.TrimSpace(tag), " ")
	switch strings.TrimSuffix(name, "/") {
	case "system":
		p.system = true
	case "cpu":
		p.cpu, p.above = "cpu"+attribute(attributes, "numaid"), nil
		p.numa = numaOf(attribute(attributes, "numaid"))
	case "pci":
		p.pci(attribute(attributes, "busid"), strings.HasSuffix(tag, "/"))
	case "/pci":
		p.above = p.above[:max(len(p.above)-1, 0)]
	}
}

func (p *topologyParser) pci(busID string, empty bool) {
	a, ok := parsePCIAddress(busID)
	if !ok {
		a = PCIAddress{Domain: 1<<32 - 1, Bus: p.unnamed}
		p.unnamed++
	}
	hops := append(append([]PCIAddress{}, p.above...), a)
	if ok {
		p.functions = append(p.functions, PlacedFunction{a, p.numa, PCIPath{HostBridge: p.cpu, Hops: hops}})
	}
	if !empty {
		p.above = hops
	}
}

// attribute returns the value of an attribute of a tag; "" without it.
func attribute(attributes, name string) string {
	_, value, _ := strings.Cut(" "+strings.Join(strings.Fields(attributes), " "), " "+name+`="`)
	value, _, _ = strings.Cut(value, `"`)
	return value
}

// numaOf reads the number of a NUMA node; -1 if there is none, as the kernel writes it.
func numaOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
