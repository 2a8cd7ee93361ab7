// Package topology reads topology files of NCCL by the rules of NCCL's own parser.
package topology

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/railhead/railhead/internal/host"
)

var (
	errNoSystem = errors.New("not a topology of NCCL: it has no <system>")
	errNoPCI    = errors.New("it has no PCI function by the name that /sys gives it, such as 0000:3b:00.0")
)

// Parse reads the PCI functions of a topology file: <cpu numaid> elements with nested <pci busid> elements (NCCL
// src/graph/xml.cc). Elements that NCCL does not know there are passed over with all that they contain.
// A bridge whose address is none of PCI, as in files for virtual machines, gets one that no function has; so does a
// function whose address is not written as /sys has it, which NCCL takes for another one. The error is a *RefusedError
// if NCCL's initialization fails.
func Parse(text string) ([]host.PlacedFunction, error) {
	p := parser{reader: reader{text}, open: []openElement{{known: true}}}
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
	switch last := p.open[len(p.open)-1]; {
	case !last.known:
		return nil, refused("XML Parse : unterminated")
	case len(p.open) > 1:
		return nil, refused("XML Parse : unterminated %s", last.name)
	case p.noNUMA:
		return nil, refused("Attribute numaid of node cpu not found")
	case !p.system:
		return nil, errNoSystem
	case len(p.functions) == 0:
		return nil, errNoPCI
	}
	return p.functions, nil
}

// parser goes through the elements of a file.
type parser struct {
	reader    reader
	open      []openElement // around the present element; the first is the file
	system    bool
	numa      int
	noNUMA    bool              // of a CPU, which NCCL finds after it has read the file
	above     []host.PCIAddress // the bridges around the present element
	unnamed   uint8             // bridges without an address of PCI
	functions []host.PlacedFunction
}

// openElement is an element that has begun. NCCL passes over those that it does not know, and over all that they
// contain.
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

func (p *parser) element(e element) error {
	last := len(p.open) - 1
	around := p.open[last]
	if e.kind == closing && last > 0 {
		p.open = p.open[:last]
		if around.known && around.name != e.name {
			return refused("XML Mismatch : %s / %s", around.name, e.name)
		}
		p.leave(around)
		return nil
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

func (p *parser) leave(e openElement) {
	if e.known && e.name == "pci" {
		p.above = p.above[:len(p.above)-1]
	}
}

func (p *parser) enter(e element) error {
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
		p.numa, p.noNUMA = numa, p.noNUMA || !found
	case "pci":
		p.pci(e)
	}
	return nil
}

func (p *parser) pci(e element) {
	busID, _ := e.attribute("busid")
	a, err := host.ParsePCIAddress(busID)
	named := err == nil && a.String() == busID
	if !named {
		a = host.PCIAddress{Domain: 1<<32 - 1, Bus: p.unnamed}
		p.unnamed++
	}
	p.above = append(slices.Clone(p.above), a)
	if named {
		path := host.PCIPath{HostBridge: fmt.Sprint("cpu", p.numa), Hops: p.above}
		p.functions = append(p.functions, host.PlacedFunction{Address: a, NUMA: p.numa, Path: path})
	}
}
