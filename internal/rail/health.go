package rail

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/words"
)

// unifyLinkLayer keeps the link layer with more bandwidth: NCCL cannot connect InfiniBand to RoCE.
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
	others := fmt.Sprintf("the other %d rails", count[keep])
	if count[keep] == 1 {
		others = "the other rail"
	}
	j.drop(func(r Rail) (Rejected, bool) {
		return Rejected{
			Cause: LinkLayerUniform, Reason: "link layer differs from " + others,
			Evidence: []check.Evidence{{Source: r.PortFile("link_layer"), Got: r.LinkLayer, Want: keep}},
		}, r.LinkLayer != keep
	})
}

// IsManagementRate reports whether a NIC is considered one for the node's management by its rate and the rate of the
// fastest NIC, in the same unit: 25 or 100 Gb/s next to 400.
func IsManagementRate(rate, fastest float64) bool { return rate < fastest/2 }

// SlowerOverTCP is the factor by which NCCL was slower over the pod network than over four 400 Gb/s rails: 0.98 GiB/s
// instead of 83 GiB/s.
const SlowerOverTCP = "85 times"

func (j *judge) dropManagementNICs() {
	fastest := fastestRate(j)
	j.drop(func(r Rail) (Rejected, bool) {
		rate, ok := r.Rate.Get()
		return Rejected{
			Cause:    RateUniform,
			Reason:   fmt.Sprintf("rate %g Gb/s next to %g Gb/s: considered a management NIC", rate.Gbps, fastest),
			Evidence: []check.Evidence{r.rateEvidence(fastest)},
		}, ok && len(r.Sources) == 0 && IsManagementRate(rate.Gbps, fastest)
	})
}

func fastestRate(j *judge) float64 {
	fastest := 0.0
	for _, r := range j.result.Rails {
		fastest = max(fastest, r.Rate.Value.Gbps)
	}
	return fastest
}

func (j *judge) drop(reject func(Rail) (Rejected, bool)) {
	kept := j.result.Rails[:0]
	for _, r := range j.result.Rails {
		if rejected, ok := reject(r); ok {
			j.reject(r.Device, r.Port, rejected)
		} else {
			kept = append(kept, r)
		}
	}
	j.result.Rails = kept
}

// PortFile returns the path of an attribute of the rail's port.
func (r Rail) PortFile(name string) string {
	return fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/%s", r.Device, r.Port, name)
}

func (r Rail) rateEvidence(wantGbps float64) check.Evidence {
	e := check.Evidence{Source: r.PortFile("rate"), Got: r.Rate.String()}
	if r.Rate.IsKnown() {
		e.Want = fmt.Sprintf("%g Gb/sec", wantGbps)
	}
	return e
}

// health adds the faults of rails that are usable nevertheless.
func (j *judge) health() {
	fastest, ports := fastestRate(j), sharedPorts(j)
	for i := range j.result.Rails {
		r := &j.result.Rails[i]
		d, _ := j.s.Device(r.Device)
		if access, e := accessTo(j, d); access == host.NotProbed {
			r.fault(UverbsOpenable, check.Unknown, "access to its verbs node was not tested", e)
		}
		r.judgeRate(fastest)
		if link, ok := j.s.Link(r.Netdev); ok && r.LinkLayer == host.Ethernet && !link.Running.Or(true) {
			r.withoutCarrier(link)
		}
		if d.IsSoftware() {
			parent := d.Parent.Value
			r.fault(HardwareRDMA, check.Warn, "software RDMA over "+parent+" is for tests: it is slower than TCP",
				check.Evidence{Source: attr(d, "parent"), Got: parent, Want: "absent, as with hardware"})
		}
		f := d.Function.Value
		if siblings := ports[physicalPort{f.PhysFn.Value, r.Port}]; len(siblings) > 1 {
			shared := r.fault(PortNotShared, check.Warn,
				strings.Join(siblings, ", ")+" are VFs of one physical port and share its bandwidth",
				check.Evidence{Source: physfn(f), Got: f.PhysFn.String()})
			for _, sibling := range siblings {
				shared.About = append(shared.About, check.DeviceRef(sibling))
			}
		}
	}
}

func (r *Rail) fault(id check.ID, status check.Status, summary string, evidence ...check.Evidence) *check.Finding {
	r.Health = append(r.Health, check.Finding{
		Check: id, Status: status, Subject: check.RailRef(r.Name()), Summary: summary, Evidence: evidence,
		Fix: healthFixes[id],
	})
	return &r.Health[len(r.Health)-1]
}

func (r *Rail) judgeRate(fastest float64) {
	switch rate, ok := r.Rate.Get(); {
	case !ok:
		r.fault(RateUniform, check.Unknown, "rate could not be read", r.rateEvidence(fastest))
	case rate.Gbps < fastest:
		r.fault(RateUniform, check.Warn, fmt.Sprintf("rate is %g Gb/s, the fastest rail has %g: "+
			"every rail slows down to the slowest", rate.Gbps, fastest), r.rateEvidence(fastest))
	}
}

func (r *Rail) withoutCarrier(link host.Link) {
	f := r.fault(CarrierPresent, check.Warn, "interface "+link.Name+" has no carrier", check.Evidence{
		Source: "IFF_RUNNING of " + link.Name, Got: "off, operstate " + link.OperState.String(), Want: "on",
	})
	if !link.Up.Or(true) {
		f.Summary, f.Fix = "interface "+link.Name+" is down", setUp(link.Name)
	}
}

// healthFixes has the fixes for faults of usable rails.
var healthFixes = map[check.ID]*check.Fix{
	RateUniform: check.ByAdmin("Check the slow rail's cable, transceiver and switch port."),
	CarrierPresent: check.ByAdmin("Set the physical function below it up; then check its cable and switch port."+findPF,
		"ip link set PF up"),
	HardwareRDMA: check.ByAdmin("For training, use nodes with RDMA NICs."),
	PortNotShared: check.ByUser("Request virtual functions of different cards: " +
		"one network and one resource for each physical port."),
}

// physicalPort is a port of a physical function, which its virtual functions share.
type physicalPort struct {
	function host.PCIAddress
	number   int
}

func sharedPorts(j *judge) map[physicalPort][]string {
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

// unusedPhysical reports physical functions that would work but are not used, because there are also virtual ones. On
// bare metal and on the host network, where nothing allocates devices, one forgotten VF must not hide them.
func (j *judge) unusedPhysical() {
	beside := func(r Rejected) bool { return r.reason == besideVirtual }
	if len(j.result.Rails) == 0 || !slices.ContainsFunc(j.result.Rejected, beside) {
		return
	}
	used, physical := j.result.Devices(), Resolve(*j.s, Host).Devices()
	if len(physical) == 0 {
		return
	}
	j.conflict(check.Finding{
		Check: DeviceAllocated, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("Railhead uses only %s (%s); %s would also work (%s), and no source shows what was "+
			"allocated",
			words.Count(len(used), "virtual function"), strings.Join(used, ", "),
			words.Count(len(physical), "physical function"), strings.Join(physical, ", ")),
		Evidence: []check.Evidence{
			{Source: "PCIDEVICE_*, SRIOVNETWORK_*, DRA metadata, network-status", Got: "absent"},
		},
		Fix: useHostScope,
	})
}

// foreignDevices reports devices of other pods that can be opened here: without NCCL_IB_HCA, NCCL would use them all.
func (j *judge) foreignDevices() {
	if j.scope == Host || !j.restricted {
		return
	}
	var foreign []string
	for _, r := range j.result.Rejected {
		if r.Cause == DeviceAllocated && len(r.Sources) == 0 && j.s.AccessTo(r.Device) == host.Openable {
			foreign = append(foreign, r.Device)
		}
	}
	if len(foreign) == 0 {
		return
	}
	j.conflict(check.Finding{
		Check: ForeignHCAHidden, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("this pod can open %s that it was not given: is it privileged?",
			words.Count(len(foreign), "device")),
		Evidence: []check.Evidence{
			{Source: "/dev/infiniband", Got: strings.Join(foreign, ", "), Want: "only the devices that were allocated"},
		},
		Fix: check.ByUser("Run the pod without privileged: "+
			"RDMA needs only the device plugin's nodes and a memlock limit.", "securityContext:\n  privileged: false"),
	})
}

// unassignedNamespace detects exclusive mode without the rdma CNI plugin: verbs nodes are here, their devices are not.
// The kernel then refuses to open the node with EPERM, even for root (drivers/infiniband/core/uverbs_main.c
// ib_uverbs_open).
func (j *judge) unassignedNamespace() {
	mode := j.s.RDMANetns.Or("not known")
	var orphans []string
	for _, u := range j.s.Uverbs {
		_, listed := j.s.Device(u.Device.Or(""))
		here := u.Access == host.Openable || u.Access == host.Denied && mode == "exclusive"
		if here && !listed {
			orphans = append(orphans, u.Name)
		}
	}
	given := func(r Rail) bool { return len(r.Sources) > 0 }
	if len(orphans) == 0 || slices.ContainsFunc(j.result.Rails, given) {
		return
	}
	nodes := strings.Join(orphans, ", ")
	j.conflict(check.Finding{
		Check: RDMANamespace, Status: check.Fail, Subject: check.Ref{Kind: check.Pod},
		Summary: nodes + ": the verbs node is here, but the RDMA device is not in this network namespace (mode " +
			mode + ")",
		Evidence: []check.Evidence{
			{Source: "/sys/module/ib_core/parameters/netns_mode", Got: mode},
			{Source: "/sys/class/infiniband", Got: deviceNames(j), Want: "the devices of " + nodes},
		},
		Fix: check.ByAdmin("In exclusive mode the rdma CNI plugin must move the device into the pod: "+
			"add it to the network attachment.", "SriovNetwork spec:\n  metaPlugins: '{\"type\": \"rdma\"}'"),
	})
}
