package sysfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

var (
	// Without the right to read all, the kernel returns the first 64 bytes (drivers/pci/pci-sysfs.c
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

// pciConfig reads the configuration space of a function: bytes, or the form of a recording.
func pciConfig(t *tree, a host.PCIAddress) host.PCIConfig {
	name := pciDevices + "/" + a.String() + "/config"
	f := t.file(name)
	switch {
	case f.IsUnreadable():
		return noConfig(f.Why)
	case !f.IsKnown():
		return host.PCIConfig{}
	}
	space, err := parseConfigSpace(f.Value)
	if err != nil {
		return noConfig(t.problem(name, "parse", err))
	}
	c, err := space.decode()
	switch {
	case errors.Is(err, errNotExpress):
		return host.PCIConfig{}
	case err != nil:
		return noConfig(err.Error()) // usual in a container, and no Problem
	}
	return c
}

func noConfig(why string) host.PCIConfig {
	unread := host.Unread[int](why)
	return host.PCIConfig{MaxPayload: unread, MaxReadRequest: unread, ACS: unread}
}

// configSpace is a configuration space with the offsets of the words that decode has read.
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
func (c *configSpace) decode() (host.PCIConfig, error) {
	if len(c.data) <= configStandard {
		return host.PCIConfig{}, errShortConfig
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
		return host.PCIConfig{}, errNotExpress
	}
	control := c.word(express + expressControl)
	p := host.PCIConfig{
		MaxPayload:     host.Know(128 << int(control>>5&7)),
		MaxReadRequest: host.Know(128 << int(control>>12&7)),
	}
	if p.ACS = c.acs(); len(c.data) <= configExtended {
		p.ACS = host.Unread[int](fmt.Sprintf("only %d bytes of configuration space", len(c.data)))
	}
	return p, nil
}

func (c *configSpace) acs() host.Fact[int] {
	at := configExtended
	for range 256 {
		w := c.word(at)
		if w&0xffff == capabilityACS {
			return host.Know(int(c.word(at+acsControl) >> 16)) // the control register is the upper half of its word
		}
		if at = int(w >> 20 & 0xffc); at < configExtended {
			break
		}
	}
	return host.Fact[int]{}
}

// recordedConfig starts a recorded configuration space: its length, then the words that decode reads.
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
		return configSpace{}, fmt.Errorf("%.60q is not the length of a configuration space", head)
	}
	c := configSpace{data: make([]byte, size)}
	for line := range strings.Lines(words) {
		place, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		at, err1 := strconv.ParseUint(place, 16, 16)
		v, err2 := strconv.ParseUint(value, 16, 32)
		if errors.Join(err1, err2) != nil || at%4 != 0 || at+4 > size {
			return configSpace{}, fmt.Errorf("%.60q is not a word of a configuration space", line)
		}
		binary.LittleEndian.PutUint32(c.data[at:], uint32(v))
	}
	return c, nil
}

// readPCIConfigs reads the configuration spaces of the HCAs and GPUs and of the bridges above them.
func readPCIConfigs(in *input, s *host.Snapshot) {
	var bridges []host.PCIAddress
	add := func(f *host.Function) {
		f.Config = pciConfig(in.tree, f.Address)
		for _, hop := range f.Path.Value.Hops[:max(0, len(f.Path.Value.Hops)-1)] {
			if !slices.Contains(bridges, hop) {
				bridges = append(bridges, hop)
			}
		}
	}
	for i := range s.Devices {
		if f, ok := s.Devices[i].Function.Get(); ok {
			add(&f)
			s.Devices[i].Function = host.Know(f)
		}
	}
	for i := range s.GPUs {
		add(&s.GPUs[i].Function)
	}
	sort.Slice(bridges, func(i, k int) bool { return bridges[i].Compare(bridges[k]) < 0 })
	for _, a := range bridges {
		if c := pciConfig(in.tree, a); c != (host.PCIConfig{}) {
			s.Bridges = append(s.Bridges, host.Function{Address: a, Present: true, Config: c})
		}
	}
}
