package rail

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// unifyLinkLayer keeps one link layer: NCCL cannot connect InfiniBand to RoCE. The one with more bandwidth stays.
func (j *judge) unifyLinkLayer() {
	total := map[string]float64{}
	count := map[string]int{}
	for _, r := range j.result.Rails {
		total[r.LinkLayer] += r.Rate.Value.Gbps
		count[r.LinkLayer]++
	}
	if len(count) < 2 {
		return
	}
	keep := host.InfiniBand
	if total[host.Ethernet] > total[host.InfiniBand] {
		keep = host.Ethernet
	}
	j.drop(func(r Rail) (check.ID, string, []check.Evidence) {
		if r.LinkLayer == keep {
			return "", "", nil
		}
		others := fmt.Sprintf("the other %d rails", count[keep])
		if count[keep] == 1 {
			others = "the other rail"
		}
		return LinkLayerUniform, "link layer differs from " + others,
			[]check.Evidence{{Source: fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/link_layer", r.Device, r.Port), Got: r.LinkLayer, Want: keep}}
	})
}

// slowShare is the share of the fastest rail's rate below which a device that nobody allocated is taken for a
// management NIC: 25 or 100 Gb/s beside 400.
const slowShare = 0.5

// dropSlowStrangers turns away management NICs where no allocation says which devices are meant.
func (j *judge) dropSlowStrangers() {
	fastest := j.fastest()
	j.drop(func(r Rail) (check.ID, string, []check.Evidence) {
		rate, ok := r.Rate.Get()
		if !ok || len(r.Sources) > 0 || rate.Gbps >= fastest*slowShare {
			return "", "", nil
		}
		return RateUniform, fmt.Sprintf("rate %g Gb/s beside %g Gb/s: taken for a management NIC", rate.Gbps, fastest),
			[]check.Evidence{{Source: ratePath(r), Got: rate.String(), Want: fmt.Sprintf("%g Gb/sec", fastest)}}
	})
}

func (j *judge) fastest() float64 {
	fastest := 0.0
	for _, r := range j.result.Rails {
		fastest = max(fastest, r.Rate.Value.Gbps)
	}
	return fastest
}

// drop rejects the rails for which a reason is given.
func (j *judge) drop(reason func(Rail) (check.ID, string, []check.Evidence)) {
	kept := j.result.Rails[:0]
	for _, r := range j.result.Rails {
		cause, why, evidence := reason(r)
		if why == "" {
			kept = append(kept, r)
			continue
		}
		j.reject(r.Device, r.Port, Rejected{Cause: cause, Reason: why, Evidence: evidence})
	}
	j.result.Rails = kept
}

// health notes faults of rails that are nevertheless usable.
func (j *judge) health() {
	fastest := j.fastest()
	ports := j.sharedPorts()
	for i := range j.result.Rails {
		r := &j.result.Rails[i]
		d, _ := j.s.Device(r.Device)
		add := func(id check.ID, status check.Status, summary string, evidence ...check.Evidence) {
			r.Health = append(r.Health, check.Finding{
				Check: id, Status: status, Subject: check.RailRef(r.Name()), Summary: summary, Evidence: evidence, Fix: healthFixes[id],
			})
		}
		if access, e := j.access(d); access == host.NotProbed {
			add(UverbsOpenable, check.Unknown, "whether its verbs node opens was not probed", e)
		}
		if rate, ok := r.Rate.Get(); !ok {
			add(RateUniform, check.Unknown, "rate could not be read", check.Evidence{Source: ratePath(*r), Got: r.Rate.String()})
		} else if rate.Gbps < fastest {
			add(RateUniform, check.Warn, fmt.Sprintf("rate %g Gb/s, its fastest sibling has %g: every rail will run at the slowest one's pace", rate.Gbps, fastest),
				check.Evidence{Source: ratePath(*r), Got: rate.String(), Want: fmt.Sprintf("%g Gb/sec", fastest)})
		}
		if link, ok := j.s.Link(r.Netdev); ok && r.LinkLayer == host.Ethernet && !link.Running.Or(true) {
			add(CarrierPresent, check.Warn, "interface "+link.Name+" has no carrier",
				check.Evidence{Source: "IFF_RUNNING of " + link.Name, Got: "off, operstate " + link.OperState.String(), Want: "on"})
			if f := &r.Health[len(r.Health)-1]; !link.Up.Or(true) {
				f.Summary, f.Fix = "interface "+link.Name+" is down", raise(link.Name)
			}
		}
		if d.IsSoftware() {
			add(HardwareRDMA, check.Warn, "software RDMA over "+d.Parent.Value+": for tests; slower than TCP",
				check.Evidence{Source: attr(d, "parent"), Got: d.Parent.Value, Want: "absent, as with hardware"})
		}
		if siblings := ports[physicalPort{d.Function.Value.PhysFn.Value, r.Port}]; len(siblings) > 1 {
			add(PortNotShared, check.Warn, fmt.Sprintf("%s are VFs of one physical port: they share its bandwidth", strings.Join(siblings, ", ")),
				check.Evidence{Source: "/sys/bus/pci/devices/" + d.Function.Value.Address.String() + "/physfn", Got: d.Function.Value.PhysFn.String()})
			shared := &r.Health[len(r.Health)-1]
			for _, sibling := range siblings {
				shared.About = append(shared.About, check.DeviceRef(sibling))
			}
		}
	}
}

// healthFixes has the fixes for faults of usable rails.
var healthFixes = map[check.ID]*check.Fix{
	RateUniform: {Text: "Look at the slow rail's cable, transceiver and switch port.", Who: check.Admin},
	CarrierPresent: {
		Text: "Raise the physical function below it; then look at cable and switch port.", Commands: []string{"ip link set PF up"}, Who: check.Admin,
	},
	HardwareRDMA: {Text: "For training use nodes with RDMA NICs.", Who: check.Admin},
	PortNotShared: {
		Text: "Ask for virtual functions of different cards: one network and one resource for each physical port.", Who: check.User,
	},
}

func ratePath(r Rail) string {
	return fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/rate", r.Device, r.Port)
}

// physicalPort is shared by virtual functions: a port of their physical function.
type physicalPort struct {
	function host.PCIAddress
	number   int
}

// sharedPorts groups the rails by the physical port below them.
func (j *judge) sharedPorts() map[physicalPort][]string {
	ports := map[physicalPort][]string{}
	for _, r := range j.result.Rails {
		d, _ := j.s.Device(r.Device)
		if pf, ok := d.Function.Value.PhysFn.Get(); ok && !d.IsSoftware() {
			port := physicalPort{pf, r.Port}
			ports[port] = append(ports[port], r.Device)
		}
	}
	return ports
}

// notice reports what is about the machine as a whole.
func (j *judge) notice() {
	j.foreignDevices()
	j.unassignedNamespace()
	j.unusedPhysical()
}

// unusedPhysical says that virtual functions were preferred to physical ones that would do: on bare metal and on the
// host network, where nothing allocates devices, one forgotten VF must not cost the others.
func (j *judge) unusedPhysical() {
	beside := func(r Rejected) bool { return r.reason == besideVirtual }
	if len(j.result.Rails) == 0 || !slices.ContainsFunc(j.result.Rejected, beside) {
		return
	}
	physical := Resolve(*j.s, Host).Devices()
	if len(physical) == 0 {
		return
	}
	j.conflict(check.Finding{
		Check: DeviceAllocated, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("only the %d virtual function(s) %s are used; the %d physical one(s) %s would do as well, and nothing says what was allocated",
			len(j.result.Devices()), strings.Join(j.result.Devices(), ", "), len(physical), strings.Join(physical, ", ")),
		Evidence: []check.Evidence{{Source: "PCIDEVICE_*, SRIOVNETWORK_*, DRA metadata, network-status", Got: "absent"}},
		Fix: &check.Fix{
			Text: "On bare metal or on the host network say --scope host.", Commands: []string{"railhead-pod run --scope host -- ..."}, Who: check.User,
		},
	})
}

// foreignDevices says that devices of other pods can be opened here: NCCL would take them all without NCCL_IB_HCA.
func (j *judge) foreignDevices() {
	if j.scope == Host || !j.restricted {
		return
	}
	var foreign []string
	for _, t := range j.result.Rejected {
		if t.Cause == DeviceAllocated && len(t.Sources) == 0 {
			if access, _ := j.accessByName(t.Device); access == host.Openable {
				foreign = append(foreign, t.Device)
			}
		}
	}
	if len(foreign) == 0 {
		return
	}
	j.conflict(check.Finding{
		Check: ForeignHCAHidden, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("%d device(s) that are not this pod's can be opened here: is it privileged?", len(foreign)),
		Evidence: []check.Evidence{{
			Source: "/dev/infiniband", Got: strings.Join(foreign, ", "), Want: "only the devices that were allocated",
		}},
		Fix: &check.Fix{
			Text:     "Run the pod without privileged: the device plugin's nodes and a memlock limit are all that RDMA needs.",
			Commands: []string{"securityContext:\n  privileged: false"}, Who: check.User,
		},
	})
}

func (j *judge) accessByName(name string) (host.Access, check.Evidence) {
	d, _ := j.s.Device(name)
	if d.Name == "" {
		return host.Missing, check.Evidence{}
	}
	return j.access(d)
}

// unassignedNamespace recognises the exclusive mode without the rdma CNI: nodes are there, their devices are not. The
// kernel refuses to open such a node with EPERM, whoever asks (drivers/infiniband/core/uverbs_main.c ib_uverbs_open).
func (j *judge) unassignedNamespace() {
	mode := j.s.RDMANetns.Or("not known")
	var orphans []string
	for _, u := range j.s.Uverbs {
		name, ok := u.Device.Get()
		_, listed := j.s.Device(name)
		here := u.Access == host.Openable || u.Access == host.Denied && mode == "exclusive"
		if here && (!ok || !listed) {
			orphans = append(orphans, u.Name)
		}
	}
	if len(orphans) == 0 || slices.ContainsFunc(j.result.Rails, func(r Rail) bool { return len(r.Sources) > 0 }) {
		return
	}
	j.conflict(check.Finding{
		Check: RDMANamespace, Status: check.Fail, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("%s: the verbs node is here, but the RDMA device is not in this network namespace (mode %s)", strings.Join(orphans, ", "), mode),
		Evidence: []check.Evidence{
			{Source: "/sys/module/ib_core/parameters/netns_mode", Got: mode},
			{Source: "/sys/class/infiniband", Got: j.deviceNames(), Want: "the devices of " + strings.Join(orphans, ", ")},
		},
		Fix: &check.Fix{
			Text: "In exclusive mode the rdma CNI must move the device into the pod: add it to the network attachment.",
			Commands: []string{`SriovNetwork spec:
  metaPlugins: '{"type": "rdma"}'`}, Who: check.Admin,
		},
	})
}
