package host

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// Topology is the file from which NCCL takes the paths between GPUs and NICs: NCCL_TOPO_FILE, or the file that
// nvidia-topologyd writes in virtual machines (NCCL src/graph/topo.cc ncclTopoGetSystem).
type Topology struct {
	Path      string                 `json:"path"`
	Origin    string                 `json:"origin,omitempty"` // of the variable; empty: NCCL finds the file itself
	Functions Fact[[]PlacedFunction] `json:"functions,omitzero"`
	// Refused is why NCCL's initialization fails with the file, in its own words.
	Refused string `json:"refused,omitempty"`
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
	errNoPCI    = errors.New("it has no PCI function by the name that /sys gives it, such as 0000:3b:00.0")
)

// ParseTopology reads the PCI functions of a topology file of NCCL: <cpu numaid> elements with nested <pci busid>
// elements (NCCL src/graph/xml.cc). Elements that NCCL does not know there are passed over with all that they contain.
// A bridge whose address is none of PCI, as in files for virtual machines, gets one that no function has; so does a
// function whose address is not written as /sys has it, which NCCL takes for another one. The error is a *RefusedError
// if NCCL's initialization fails.
func ParseTopology(text string) ([]PlacedFunction, error) {
	p := topologyParser{reader: topologyReader{text}}
	for {
		e, err := p.reader.next()
		if err == nil {
			err = p.element(e)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case len(p.open) > 0 && p.open[len(p.open)-1].known:
		return nil, refused("XML Parse : unterminated %s", p.open[len(p.open)-1].name)
	case len(p.open) > 0:
		return nil, refused("XML Parse : unterminated")
	case p.noNUMA:
		return nil, refused("Attribute numaid of node cpu not found")
	case !p.system:
		return nil, errNoSystem
	case len(p.functions) == 0:
		return nil, errNoPCI
	}
	return p.functions, nil
}

// topologyParser goes through the elements of a file.
type topologyParser struct {
	reader    topologyReader
	open      []openElement
	system    bool
	cpu       string
	numa      int
	noNUMA    bool         // of a CPU, which NCCL finds after it has read the file
	above     []PCIAddress // the bridges around the present element
	unnamed   uint8        // bridges without an address of PCI
	functions []PlacedFunction
}

// openElement is an element around the present one. NCCL passes over those that it does not know, and over all that
// they contain.
type openElement struct {
	name  string
	known bool
}

// knows reports whether NCCL knows an element within another one; "" is the file.
func knows(around, name string) bool {
	switch around + "/" + name {
	case "/system", "system/cpu", "cpu/pci", "cpu/nic", "pci/pci", "pci/gpu", "pci/nic", "pci/pcilink", "gpu/nvlink",
		"gpu/c2c", "nic/net":
		return true
	}
	return false
}

func (p *topologyParser) element(e element) error {
	around := openElement{known: true}
	if n := len(p.open); n > 0 {
		around = p.open[n-1]
		if e.kind == closing {
			p.open = p.open[:n-1]
			if around.known && around.name != e.name {
				return refused("XML Mismatch : %s / %s", around.name, e.name)
			}
			p.leave(around)
			return nil
		}
	}
	this := openElement{e.name, around.known && knows(around.name, e.name)}
	if this.known {
		if err := p.enter(e); err != nil {
			return err
		}
	}
	if e.kind == empty {
		p.leave(this)
	} else {
		p.open = append(p.open, this)
	}
	return nil
}

func (p *topologyParser) leave(e openElement) {
	if e.known && e.name == "pci" {
		p.above = p.above[:len(p.above)-1]
	}
}

func (p *topologyParser) enter(e element) error {
	switch e.name {
	case "system":
		p.system = true
		version, found := e.number("version")
		switch {
		case !found:
			return refused("Attribute version of node system not found")
		case version != 1:
			return refused("XML Topology has wrong version %d, 1 needed", version)
		}
	case "cpu":
		numa, found := e.number("numaid")
		p.cpu, p.numa, p.noNUMA = fmt.Sprint("cpu", numa), numa, p.noNUMA || !found
	case "pci":
		p.pci(e)
	}
	return nil
}

func (p *topologyParser) pci(e element) {
	busID, _ := e.attribute("busid")
	a, ok := parsePCIAddress(busID)
	if ok = ok && a.String() == busID; !ok {
		a = PCIAddress{Domain: 1<<32 - 1, Bus: p.unnamed}
		p.unnamed++
	}
	p.above = append(slices.Clone(p.above), a)
	if ok {
		p.functions = append(p.functions, PlacedFunction{a, p.numa, PCIPath{HostBridge: p.cpu, Hops: p.above}})
	}
}
