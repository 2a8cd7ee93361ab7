package rail

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// claim is one device that something says this pod was given.
type claim struct {
	source     string // environment variable, DRA claim or annotation
	id         string // PCI address or auxiliary device, as written
	rdmaDevice string // name that the source gives, which sysfs may contradict
	uverbs     string // uverbsN that the source gives
	nonRDMA    bool   // the source itself says that the device is none: vfio, vdpa, a FEC accelerator
}

// collect gathers the claims of every source.
func (j *judge) collect() []claim {
	claims := j.pluginClaims()
	claims = append(claims, j.driverClaims()...)
	for _, c := range j.s.Claims {
		source := fmt.Sprintf("DRA claim %s/%s", c.Claim, c.Request)
		if c.PCI.IsKnown() || c.RDMADevice != "" {
			claims = append(claims, claim{source: source, id: idOf(c.PCI), rdmaDevice: c.RDMADevice})
		}
	}
	for _, n := range j.s.NetworkStatus {
		if n.PCI.IsKnown() || n.RDMADevice != "" {
			source := "network-status of " + n.Interface
			// one network can tie several RDMA devices, comma-joined (device plugin v3.7.0)
			for name := range strings.SplitSeq(n.RDMADevice, ",") {
				claims = append(claims, claim{source: source, id: idOf(n.PCI), rdmaDevice: name})
			}
		}
	}
	return claims
}

func idOf(a host.Fact[host.PCIAddress]) string {
	if address, ok := a.Get(); ok {
		return address.String()
	}
	return ""
}

// pluginClaims reads PCIDEVICE_<resource> and PCIDEVICE_<resource>_INFO. Whether a name that ends in _INFO is the JSON
// one is decided by content: a resource may be called foo_info.
func (j *judge) pluginClaims() []claim {
	var claims []claim
	for _, name := range slices.Sorted(maps.Keys(j.s.Env)) {
		value := strings.TrimSpace(j.s.Env[name])
		_, hasInfo := j.s.Env[name+"_INFO"]
		isInfo := strings.HasSuffix(name, "_INFO") && strings.HasPrefix(value, "{")
		if !strings.HasPrefix(name, "PCIDEVICE_") && !isInfo && !hasInfo {
			continue
		}
		switch {
		case isInfo && j.idsOnly && j.s.Env[strings.TrimSuffix(name, "_INFO")] != "":
		case isInfo:
			claims = append(claims, j.infoClaims(name, value)...)
		case value == "":
			j.conflict(check.Finding{
				Check: AllocationReadable, Status: check.Warn, Subject: subjectEnv(name),
				Summary:  "the device plugin lists no device in it",
				Evidence: []check.Evidence{{Source: name, Got: "empty", Want: "PCI addresses"}},
			})
		default:
			for id := range strings.SplitSeq(value, ",") {
				if id = strings.TrimSpace(id); id != "" {
					claims = append(claims, claim{source: name, id: id})
				}
			}
		}
	}
	return claims
}

func (j *judge) infoClaims(name, value string) []claim {
	devices, err := parsePluginInfo(value)
	if err != nil {
		j.conflict(check.Finding{
			Check: AllocationReadable, Status: check.Warn, Subject: subjectEnv(name),
			Summary:  fmt.Sprintf("not readable after %d device(s): %v; the plain list and sysfs are used for the rest", len(devices), err),
			Evidence: []check.Evidence{{Source: name, Got: tail(value), Want: "JSON of the SR-IOV device plugin"}},
		})
	}
	claims := make([]claim, 0, len(devices))
	for _, d := range devices {
		c := claim{source: name, id: d.ID, rdmaDevice: d.RDMADevice, nonRDMA: d.NonRDMA}
		if d.Uverbs != "" {
			c.uverbs = path.Base(d.Uverbs)
		}
		claims = append(claims, c)
	}
	return claims
}

// tail is the end of a text: where torn JSON was torn.
func tail(s string) string {
	if len(s) > 40 {
		return "..." + s[len(s)-40:]
	}
	return s
}

// driverClaims reads the environment of dra-driver-sriov (pkg/cdi): SRIOVNETWORK_PCI_ADDRESSES,
// SRIOVNETWORK_VF_DEVICE_<D> and, for the same <D>, SRIOVNETWORK_<D>_RDMA_DEVICE and _RDMA_UVERB.
func (j *judge) driverClaims() []claim {
	const prefix = "SRIOVNETWORK_"
	var claims []claim
	listed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(j.s.Env)) {
		rest, ok := strings.CutPrefix(name, prefix+"VF_DEVICE_")
		if !ok {
			continue
		}
		c := claim{source: name, id: j.s.Env[name]}
		c.rdmaDevice = j.s.Env[prefix+rest+"_RDMA_DEVICE"]
		if node := j.s.Env[prefix+rest+"_RDMA_UVERB"]; node != "" {
			c.uverbs = path.Base(node)
		}
		listed[c.id] = true
		claims = append(claims, c)
	}
	for id := range strings.SplitSeq(j.s.Env[prefix+"PCI_ADDRESSES"], ",") {
		if id = strings.TrimSpace(id); id != "" && !listed[id] {
			claims = append(claims, claim{source: prefix + "PCI_ADDRESSES", id: id})
		}
	}
	return claims
}

func subjectEnv(name string) check.Subject { return check.Subject("env/" + name) }

// attribute ties every claim to an RDMA device of this machine and reports those that it cannot tie.
func (j *judge) attribute() map[string][]string {
	given := map[string][]string{}
	unmet := map[string][]claim{}
	for _, c := range j.claims {
		names := j.devicesOf(c)
		if len(names) == 0 {
			key := c.id
			if key == "" {
				key = c.rdmaDevice
			}
			unmet[key] = append(unmet[key], c)
			continue
		}
		for _, name := range names {
			if !slices.Contains(given[name], c.source) {
				given[name] = append(given[name], c.source)
			}
		}
		if c.rdmaDevice != "" && !slices.Contains(names, c.rdmaDevice) {
			j.conflict(renamed(c, names[0]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(unmet)) {
		j.unmet(id, unmet[id])
	}
	return given
}

// devicesOf finds the device by what cannot be renamed first: PCI address or auxiliary device, then verbs node, then name.
func (j *judge) devicesOf(c claim) []string {
	var byID []string
	for _, d := range j.s.Devices {
		f, onPCI := d.Function.Get()
		aux, isAux := d.Auxiliary.Get()
		if isAux && aux == c.id || onPCI && !isAux && f.Address.String() == strings.ToLower(c.id) {
			byID = append(byID, d.Name)
		}
	}
	if len(byID) > 0 {
		return byID
	}
	for _, u := range j.s.Uverbs {
		if name, ok := u.Device.Get(); ok && c.uverbs != "" && u.Name == c.uverbs {
			return []string{name}
		}
	}
	if _, ok := j.s.Device(c.rdmaDevice); ok && c.rdmaDevice != "" {
		return []string{c.rdmaDevice}
	}
	return nil
}

func renamed(c claim, now string) check.Finding {
	return check.Finding{
		Check: AllocationConsistent, Status: check.Warn, Subject: check.Subject(now),
		Summary: fmt.Sprintf("%s calls %s %s, sysfs calls it %s: renamed after the device plugin read it; sysfs is right", c.source, c.id, c.rdmaDevice, now),
		Evidence: []check.Evidence{
			{Source: c.source, Got: c.rdmaDevice, Want: now},
			{Source: "/sys/bus/pci/devices/" + c.id + "/infiniband", Got: now},
		},
		Fix: &check.Fix{
			Text: "Restart the SR-IOV device plugin on this node, so that it reads the names again.", Who: check.Admin,
			Commands: []string{"oc -n openshift-sriov-network-operator delete pod -l app=sriov-device-plugin --field-selector spec.nodeName=NODE"},
		},
	}
}

// unmet turns away an allocation that carries no RDMA device here.
func (j *judge) unmet(id string, claims []claim) {
	t := TurnedAway{Device: id, Cause: DeviceAllocated}
	for _, c := range claims {
		if !slices.Contains(t.Sources, c.source) {
			t.Sources = append(t.Sources, c.source)
		}
	}
	f, known := j.functionByID(id)
	switch {
	case namesRDMA(claims):
		t.Cause = AllocationConsistent
		t.Reason = fmt.Sprintf("allocated as RDMA device %s, which this container does not show", namedDevice(claims))
		t.Evidence = []check.Evidence{{Source: "/sys/class/infiniband", Got: j.deviceNames(), Want: namedDevice(claims)}}
	case anyNonRDMA(claims):
		t.Reason = "allocated for vfio, vdpa or uio, not for RDMA"
	case known && !f.Present:
		t.Reason = "allocated, but this machine has no such PCI function"
		t.Evidence = []check.Evidence{{Source: "/sys/bus/pci/devices/" + id, Got: "absent"}}
	case known:
		t.Reason = "allocated, but carries no RDMA device"
		t.Evidence = []check.Evidence{
			{Source: "/sys/bus/pci/devices/" + id + "/infiniband", Got: "absent", Want: "an RDMA device"},
			{Source: "/sys/bus/pci/devices/" + id + "/driver", Got: f.Driver.String()},
		}
	default:
		t.Reason = "allocated, but is no device that this machine shows"
	}
	j.result.TurnedAway = append(j.result.TurnedAway, t)
}

func namesRDMA(claims []claim) bool { return namedDevice(claims) != "" }

func namedDevice(claims []claim) string {
	for _, c := range claims {
		if c.rdmaDevice != "" {
			return c.rdmaDevice
		}
		if c.uverbs != "" {
			return "of " + c.uverbs
		}
	}
	return ""
}

func anyNonRDMA(claims []claim) bool {
	return slices.ContainsFunc(claims, func(c claim) bool { return c.nonRDMA })
}

func (j *judge) functionByID(id string) (host.Function, bool) {
	for _, f := range j.s.Functions {
		if f.Address.String() == strings.ToLower(id) {
			return f, true
		}
	}
	return host.Function{}, false
}

func (j *judge) deviceNames() string {
	if len(j.s.Devices) == 0 {
		return "no device"
	}
	names := make([]string, 0, len(j.s.Devices))
	for _, d := range j.s.Devices {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}
