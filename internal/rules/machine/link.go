package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// capacity returns the payload rate of a PCIe link in Gb/s: from 8 GT/s on 128 of 130 bits are data, before 8 of 10
// (PCIe Base Specification); packet headers take about a tenth.
func capacity(gts float64, width int) float64 {
	coding := 128.0 / 130
	if gts < 8 {
		coding = 0.8
	}
	return gts * float64(width) * coding * 0.9
}

// physicalPort is a port of a card, which its VFs share.
type physicalPort struct {
	function host.PCIAddress
	number   int
}

// slotRates has the rates of the ports that share a PCIe link, in Gb/s, by the slot.
type slotRates map[host.PCIAddress]map[physicalPort]float64

func (s slotRates) add(f *host.Function, port int, rate host.Fact[host.Rate]) {
	if s[f.Slot()] == nil {
		s[f.Slot()] = map[physicalPort]float64{}
	}
	s[f.Slot()][physicalPort{f.PhysFn.Or(f.Address), port}] = rate.Value.Gbps
}

func (s slotRates) sum(slot host.PCIAddress) (gbps float64) {
	for _, rate := range s[slot] {
		gbps += rate
	}
	return gbps
}

// slow compares the PCIe link of a function with the rate of the ports that share it.
func (s slotRates) slow(about check.Ref, f *host.Function) []check.Finding {
	l, known := f.Link.Get()
	if !known || l.MaxWidth == 0 || l.Width >= l.MaxWidth && l.GTs >= l.MaxGTs {
		return nil
	}
	carries, gbps := capacity(l.GTs, l.Width), s.sum(f.Slot())
	status := check.Pass
	switch {
	case carries < gbps/2:
		status = check.Fail
	case carries < gbps*0.95:
		status = check.Warn
	}
	summary := fmt.Sprintf("PCIe link runs at %g GT/s x%d, the card supports %g GT/s x%d",
		l.GTs, l.Width, l.MaxGTs, l.MaxWidth)
	if status > check.Pass {
		summary += fmt.Sprintf(": it carries about %.0f of the %g Gb/s of the card's ports", carries, gbps)
	}
	address := f.PhysFn.Or(f.Address).String()
	link := "/sys/bus/pci/devices/" + address + "/current_link_"
	return []check.Finding{{
		Status: status, Subject: about, Summary: summary,
		Evidence: []check.Evidence{
			{Source: link + "speed", Got: fmt.Sprintf("%g GT/s", l.GTs), Want: fmt.Sprintf("%g GT/s", l.MaxGTs)},
			{Source: link + "width", Got: fmt.Sprint(l.Width), Want: fmt.Sprint(l.MaxWidth)},
		},
		Fix: check.ByAdmin("Reseat the card, or use a slot of full width and speed. Check the "+
			"slot's setting in the firmware.",
			"lspci -vv -s "+address+" | grep -E 'LnkCap|LnkSta'"),
	}}
}

func railLinks(t *subject) []check.Finding {
	rates := slotRates{}
	for i := range t.rails {
		rates.add(&t.rails[i].Function.Value, t.rails[i].Port, t.rails[i].Rate)
	}
	var all []check.Finding
	for i := range t.rails {
		if r := &t.rails[i]; r.Function.IsKnown() {
			all = append(all, rates.slow(check.RailRef(r.Name()), &r.Function.Value)...)
		}
	}
	return t.ifRead(all, func(r rail.Rail) bool { return r.Function.Value.Link.IsKnown() })
}

func cardLinks(t *subject) []check.Finding {
	rates := slotRates{}
	for _, d := range physical(&t.Snapshot) {
		for _, p := range d.Ports {
			rates.add(&d.Function.Value, p.Number, p.Rate)
		}
	}
	var all []check.Finding
	read := true
	for _, d := range physical(&t.Snapshot) {
		all = append(all, rates.slow(check.DeviceRef(d.Name), &d.Function.Value)...)
		read = read && d.Function.Value.Link.IsKnown()
	}
	if len(all) == 0 && !read {
		return noData()
	}
	return all
}

func rateExpected(t *subject) []check.Finding {
	want := t.options.RateGbps
	var g group
	var slow []string
	for _, r := range t.rails {
		if rate, ok := r.Rate.Get(); ok && rate.Gbps < want {
			slow = append(slow, fmt.Sprintf("%s has %g", r.Name(), rate.Gbps))
			g.add(check.RailRef(r.Name()), r.PortFile("rate"), rate.String(), fmt.Sprintf("%g Gb/sec", want))
		}
	}
	unread := func(r rail.Rail) bool { return !r.Rate.IsKnown() }
	switch {
	case len(slow) > 0:
	case want > 0 && slices.ContainsFunc(t.rails, unread):
		return []check.Finding{{
			Status: check.Unknown, Summary: fmt.Sprintf("whether every rail has %g Gb/s could not be read", want),
		}}
	default:
		return nil
	}
	return []check.Finding{{
		Status: check.Fail, About: g.objects,
		Summary:  fmt.Sprintf("rails are slower than the expected %g Gb/s: %s", want, strings.Join(slow, ", ")),
		Evidence: g.evidence,
		Fix: check.ByAdmin(checkCable+" The link came up with fewer lanes or at a lower speed.",
			"ethtool INTERFACE", "mlxlink -d PCI --port_type NETWORK -m"),
	}}
}
