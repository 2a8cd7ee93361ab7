package bench

// Slot is the present state of a PCI Express link: /sys/bus/pci/devices/*/current_link_speed and _width, and the
// maximum payload of a packet from the Device Control register. The zero value is an unknown slot.
type Slot struct {
	GTs        float64 // a lane: 2.5 5 8 16 32 64
	Lanes      int
	MaxPayload int // bytes; 0: the 256 of most servers
}

// Overhead of PCI Express (PCI Express Base Specification 6.0).
const (
	usualPayload = 256           // Max_Payload_Size that x86 root complexes agree on
	tlpHeader    = 16            // four words: a write to a 64-bit address
	tlpFrame     = 4 + 4         // start token with the sequence number, LCRC
	ten          = 8.0 / 10      // 8b/10b up to 5 GT/s
	scrambled    = 128.0 / 130   // 128b/130b from 8 to 32 GT/s
	flit         = 236.0 / 256   // TLP bytes of a FLIT at 64 GT/s: acknowledgements and CRC have their own
	dataLink     = 57.88 / 62.96 // without acknowledgements and flow control (Neugebauer, SIGCOMM 2018, section 3)
)

// Raw returns the rate after encoding. It is false if the slot is unknown.
func (s Slot) Raw() (Gbps, bool) {
	if s.GTs <= 0 || s.Lanes <= 0 {
		return 0, false
	}
	lanes := Gbps(s.GTs * float64(s.Lanes))
	switch {
	case s.GTs <= 5:
		return lanes * ten, true
	case s.GTs <= 32:
		return lanes * scrambled, true
	}
	return lanes, true // 64 GT/s has no line encoding
}

// Payload returns the most that DMA can carry one way. It is false if the slot is unknown.
func (s Slot) Payload() (Gbps, bool) {
	raw, known := s.Raw()
	if !known {
		return 0, false
	}
	payload := float64(s.MaxPayload)
	if s.MaxPayload <= 0 {
		payload = usualPayload
	}
	if s.GTs > 32 {
		return raw * Gbps(flit*payload/(payload+tlpHeader)), true
	}
	return raw * Gbps(dataLink*payload/(payload+tlpHeader+tlpFrame)), true
}
