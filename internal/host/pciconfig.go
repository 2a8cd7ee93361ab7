package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// PCIConfig is what the configuration space of a PCI Express function says of its transfers. Where it cannot be read,
// none of it can.
type PCIConfig struct {
	MaxPayload     Fact[int] `json:"maxPayload,omitzero"`     // bytes
	MaxReadRequest Fact[int] `json:"maxReadRequest,omitzero"` // bytes
	ACS            Fact[int] `json:"acs,omitzero"`            // control register; absent: the function has no such capability
}

// The bits of the ACS control register that send what one function below a switch asks of another up to the root first
// (PCIe Base Specification, Access Control Services).
const (
	ACSRequestRedirect    = 1 << 2
	ACSCompletionRedirect = 1 << 3
	ACSUpstreamForwarding = 1 << 4
)

// Redirects reports whether the port keeps functions below it from reaching each other directly.
func (c PCIConfig) Redirects() bool {
	return c.ACS.Value&(ACSRequestRedirect|ACSCompletionRedirect) != 0
}

var (
	// errShortConfig is what the kernel gives without the right: the first 64 bytes (drivers/pci/pci-sysfs.c
	// pci_read_config; file_ns_capable at open).
	errShortConfig = errors.New("only 64 bytes of it are readable without CAP_SYS_ADMIN in the initial user namespace")
	errNotExpress  = errors.New("no PCI Express capability")
)

// Places in configuration space (include/uapi/linux/pci_regs.h).
const (
	configCapabilities = 0x34
	configStandard     = 64
	configExtended     = 256
	capabilityExpress  = 0x10
	expressControl     = 8
	capabilityACS      = 0x0d
	acsControl         = 6
)

// config reads the configuration space of a function: as bytes, or as a recording has it.
func (r *reader) config(a PCIAddress) PCIConfig {
	name := path.Join(pciDevices, a.String(), "config")
	f := r.file(name)
	switch {
	case f.IsUnreadable():
		return noConfig(f.Why)
	case !f.IsKnown():
		return PCIConfig{}
	}
	space, err := parseConfigSpace(f.Value)
	if err != nil {
		return noConfig(r.problem(name, "parse", err))
	}
	c, err := space.decode()
	switch {
	case errors.Is(err, errNotExpress):
		return PCIConfig{}
	case err != nil:
		return noConfig(err.Error()) // the usual thing in a container, and no Problem
	}
	return c
}

func noConfig(why string) PCIConfig {
	unread := Unread[int](why)
	return PCIConfig{unread, unread, unread}
}

// configSpace is a configuration space; visited are the words that decode looked at.
type configSpace struct {
	data    []byte
	visited []int
}

func (c *configSpace) word(at int) uint32 {
	if at &^= 3; at+4 <= len(c.data) {
		if !slices.Contains(c.visited, at) {
			c.visited = append(c.visited, at)
		}
		return binary.LittleEndian.Uint32(c.data[at:])
	}
	return 0
}

// decode walks the two lists of capabilities.
func (c *configSpace) decode() (PCIConfig, error) {
	if len(c.data) <= configStandard {
		return PCIConfig{}, errShortConfig
	}
	express := 0
	at := int(c.word(configCapabilities) & 0xfc)
	for range 48 { // as many as fit
		if at < configStandard {
			break
		}
		w := c.word(at)
		if w&0xff == capabilityExpress {
			express = at
			break
		}
		at = int(w >> 8 & 0xfc)
	}
	if express == 0 {
		return PCIConfig{}, errNotExpress
	}
	control := c.word(express + expressControl)
	p := PCIConfig{MaxPayload: Know(128 << int(control>>5&7)), MaxReadRequest: Know(128 << int(control>>12&7))}
	if p.ACS = c.acs(); len(c.data) <= configExtended {
		p.ACS = Unread[int](fmt.Sprintf("only %d bytes of configuration space", len(c.data)))
	}
	return p, nil
}

func (c *configSpace) acs() Fact[int] {
	at := configExtended
	for range 256 {
		w := c.word(at)
		if w&0xffff == capabilityACS {
			return Know(int(c.word(at+acsControl) >> 16)) // the control register is the upper half of its word
		}
		if at = int(w >> 20 & 0xffc); at < configExtended {
			break
		}
	}
	return Fact[int]{}
}

// recordedConfig begins the form in which a recording keeps a configuration space: its length, then the words that
// decode looks at.
const recordedConfig = "configuration space of "

func formatConfigSpace(data string) string {
	c, err := parseConfigSpace(data) // of a machine that is a recording itself
	if err != nil {
		return data
	}
	_, _ = c.decode()
	slices.Sort(c.visited)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d bytes\n", recordedConfig, len(c.data))
	for _, at := range c.visited {
		fmt.Fprintf(&b, "%03x: %08x\n", at, c.word(at))
	}
	return b.String()
}

func parseConfigSpace(text string) (configSpace, error) {
	rest, recorded := strings.CutPrefix(text, recordedConfig)
	if !recorded {
		return configSpace{data: []byte(text)}, nil
	}
	head, words, _ := strings.Cut(rest, "\n")
	size, err := strconv.ParseUint(strings.TrimSuffix(head, " bytes"), 10, 16)
	if err != nil || size > 4096 {
		return configSpace{}, fmt.Errorf("%q is no length of a configuration space", clip(head))
	}
	c := configSpace{data: make([]byte, size)}
	for line := range strings.Lines(words) {
		place, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		at, err1 := strconv.ParseUint(place, 16, 16)
		v, err2 := strconv.ParseUint(value, 16, 32)
		if errors.Join(err1, err2) != nil || at%4 != 0 || at+4 > size {
			return configSpace{}, fmt.Errorf("%q is no word of a configuration space", clip(line))
		}
		binary.LittleEndian.PutUint32(c.data[at:], uint32(v))
	}
	return c, nil
}

// configs reads the configuration spaces of the HCAs and GPUs and of the bridges above them.
func (r *reader) configs(s *Snapshot) {
	var bridges []PCIAddress
	note := func(f *Function) {
		f.Config = r.config(f.Address)
		for _, hop := range f.Path.Value.Hops[:max(0, len(f.Path.Value.Hops)-1)] {
			if !slices.Contains(bridges, hop) {
				bridges = append(bridges, hop)
			}
		}
	}
	for i := range s.Devices {
		if f, ok := s.Devices[i].Function.Get(); ok {
			note(&f)
			s.Devices[i].Function = Know(f)
		}
	}
	for i := range s.GPUs {
		note(&s.GPUs[i].Function)
	}
	sort.Slice(bridges, func(i, j int) bool { return bridges[i].Compare(bridges[j]) < 0 })
	for _, a := range bridges {
		if c := r.config(a); c != (PCIConfig{}) {
			s.Bridges = append(s.Bridges, Function{Address: a, Present: true, Config: c})
		}
	}
}
