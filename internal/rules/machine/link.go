package machine

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// capacity returns the payload rate of a PCIe link in Gb/s: from 8 GT/s on 128 of 130 bits are data, before 8 of 10
// (PCIe Base Specification); packets' headers take about a tenth.
func capacity(gts float64, width int) float64 {
	coding := 128.0 / 130
	if gts < 8 {
		coding = 0.8
	}
	return gts * float64(width) * coding * 0.9
}

// linkOf compares the PCIe link of a function with the rate of the port behind it.
func linkOf(about check.Ref, f *host.Function, rate host.Fact[host.Rate]) []check.Finding {
	l, known := f.Link.Get()
	if !known || l.MaxWidth == 0 || l.Width >= l.MaxWidth && l.GTs >= l.MaxGTs {
		return nil
	}
	carries := capacity(l.GTs, l.Width)
	gbps, ofPort := rate.Value.Gbps, rate.IsKnown()
	status := check.Pass
	summary := fmt.Sprintf("its PCIe link runs at %g GT/s x%d, and the card can do %g GT/s x%d", l.GTs, l.Width, l.MaxGTs, l.MaxWidth)
	switch {
	case ofPort && carries < gbps/2:
		status = check.Fail
	case ofPort && carries < gbps*0.95:
		status = check.Warn
	}
	if status > check.Pass {
		summary += fmt.Sprintf(": it carries about %.0f of the port's %g Gb/s", carries, gbps)
	}
	dir := "/sys/bus/pci/devices/" + f.PhysFn.Or(f.Address).String()
	return one(PCIeLink, status, about, summary,
		forAdmin("Seat the card anew, or in a slot as wide and as fast as it is; look at the slot's setting in the firmware.", "lspci -vv -s "+f.PhysFn.Or(f.Address).String()+" | grep -E 'LnkCap|LnkSta'"),
		check.Evidence{Source: dir + "/current_link_speed", Got: fmt.Sprintf("%g GT/s", l.GTs), Want: fmt.Sprintf("%g GT/s", l.MaxGTs)},
		check.Evidence{Source: dir + "/current_link_width", Got: fmt.Sprint(l.Width), Want: fmt.Sprint(l.MaxWidth)})
}

func railLinks(t *subject) []check.Finding {
	var all []check.Finding
	for i := range t.rails {
		if r := &t.rails[i]; r.Function.IsKnown() {
			all = append(all, linkOf(check.RailRef(r.Name()), &r.Function.Value, r.Rate)...)
		}
	}
	return all
}

func rateExpected(t *subject) []check.Finding {
	want := t.options.RateGbps
	var slow []string
	var rails []check.Ref
	var evidence []check.Evidence
	for _, r := range t.rails {
		if rate, ok := r.Rate.Get(); ok && rate.Gbps < want {
			rails = append(rails, check.RailRef(r.Name()))
			slow = append(slow, fmt.Sprintf("%s %g", r.Name(), rate.Gbps))
			evidence = append(evidence, check.Evidence{
				Source: fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/rate", r.Device, r.Port), Got: rate.String(), Want: fmt.Sprintf("%g Gb/sec", want),
			})
		}
	}
	if len(slow) == 0 {
		return nil
	}
	return about(one(RateExpected, check.Fail, check.Ref{Kind: check.Pod}, fmt.Sprintf("expected are %g Gb/s, and there are: %s Gb/s", want, strings.Join(slow, ", ")),
		forAdmin("Look at cable, transceiver and switch port: the link came up with fewer lanes or a lower speed.", "ethtool INTERFACE", "mlxlink -d PCI --port_type NETWORK -m"), evidence...), rails)
}

// physical are the RDMA devices of physical functions.
func physical(s *host.Snapshot) []*host.Device {
	var all []*host.Device
	for i := range s.Devices {
		if d := &s.Devices[i]; d.Function.IsKnown() && !d.IsVirtual() && !d.IsSoftware() && len(d.Ports) > 0 {
			all = append(all, d)
		}
	}
	return all
}
