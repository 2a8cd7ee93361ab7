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
	plain      bool   // the source knows of RDMA and names none of the device
	witness    bool   // it counts only beside another claim of the same device
	ofPod      bool   // it speaks of the pod, and another container of it may be meant
}

// collect gathers the claims of every source. Multus says what the pod was given, not which container of it: where this
// container's own sources name devices, it only bears witness for those.
func (j *judge) collect() []claim {
	claims := j.pluginClaims()
	claims = append(claims, j.driverClaims()...)
	for _, c := range j.s.Claims {
		source := fmt.Sprintf("DRA claim %s/%s", c.Claim, c.Request)
		if c.PCI.IsKnown() || c.RDMADevice != "" {
			claims = append(claims, claim{source: source, id: idOf(c.PCI), rdmaDevice: c.RDMADevice})
		}
	}
	own := len(claims) > 0
	for _, n := range j.s.NetworkStatus {
		if n.PCI.IsKnown() || n.RDMADevice != "" {
			source := "network-status of " + n.Interface
			// one network can tie several RDMA devices, comma-joined (device plugin v3.7.0)
			for name := range strings.SplitSeq(n.RDMADevice, ",") {
				claims = append(claims, claim{source: source, id: idOf(n.PCI), rdmaDevice: name, witness: own, ofPod: true})
			}
		}
	}
	return withoutRDMA(claims)
}

// withoutRDMA marks all claims of a device of which one source says that it is not for RDMA: the plain list does not
// tell.
func withoutRDMA(claims []claim) []claim {
	not := map[string]bool{}
	for _, c := range claims {
		not[c.id] = not[c.id] || c.nonRDMA
	}
	for i := range claims {
		claims[i].nonRDMA = not[claims[i].id]
	}
	return claims
}

func idOf(a host.Fact[host.PCIAddress]) string {
	if address, ok := a.Get(); ok {
		return address.String()
	}
	return ""
}

// pluginClaims reads PCIDEVICE_<resource> and PCIDEVICE_<resource>_INFO. A resource may be called foo_info: a name that
// ends in _INFO is the JSON one when its content begins so, or when it stands beside the plain one.
func (j *judge) pluginClaims() []claim {
	var claims []claim
	for _, name := range slices.Sorted(maps.Keys(j.s.Env)) {
		value := strings.TrimSpace(j.s.Env[name])
		ofPlugin := strings.HasPrefix(name, "PCIDEVICE_")
		_, hasInfo := j.s.Env[name+"_INFO"]
		plain, isInfo := strings.CutSuffix(name, "_INFO")
		_, beside := j.s.Env[plain]
		isInfo = isInfo && (strings.HasPrefix(value, "{") || ofPlugin && beside)
		if !ofPlugin && !isInfo && !hasInfo {
			continue
		}
		switch {
		case isInfo && j.idsOnly && j.s.Env[plain] != "":
		case isInfo && value != "":
			claims = append(claims, j.infoClaims(name, value)...)
		case value == "":
			j.conflict(check.Finding{
				Check: AllocationReadable, Status: check.Warn, Subject: check.EnvRef(name),
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
			Check: AllocationReadable, Status: check.Warn, Subject: check.EnvRef(name),
			Summary:  fmt.Sprintf("not readable after %d device(s): %v; the plain list and sysfs are used for the rest", len(devices), err),
			Evidence: []check.Evidence{{Source: name, Got: tail(value), Want: "JSON of the SR-IOV device plugin"}},
		})
	}
	claims := make([]claim, 0, len(devices))
	for _, d := range devices {
		c := claim{source: name, id: d.ID, rdmaDevice: d.RDMADevice, nonRDMA: d.NonRDMA}
		c.plain = d.RDMADevice == "" && d.Uverbs == ""
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
