package rail

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/words"
)

// claim is one device that a source says this pod was given.
type claim struct {
	source     string // environment variable, DRA claim or annotation
	id         string // PCI address or auxiliary device, as written
	rdmaDevice string // name that the source gives, which sysfs may contradict
	uverbs     string // uverbsN that the source gives
	nonRDMA    bool   // the source says that the device is not for RDMA: vfio, vdpa, a FEC accelerator
	plain      bool   // the source lists RDMA devices, but none for this device
	witness    bool   // counts only together with another claim to the same device
	ofPod      bool   // may be for another container of the pod
}

// collect returns the claims of every source. Multus reports what the pod was given, not which of its containers: if
// this container's own sources name devices, Multus only confirms those.
func (j *judge) collect() []claim {
	claims := pluginClaims(j)
	claims = append(claims, driverClaims(j)...)
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
				claims = append(claims, claim{
					source: source, id: idOf(n.PCI), rdmaDevice: name, witness: own, ofPod: true,
				})
			}
		}
	}
	return withoutRDMA(claims)
}

// withoutRDMA marks all claims to a device that one source says is not for RDMA: the plain list does not say that.
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
// ends in _INFO is the JSON variable if it contains JSON or if the plain variable also exists.
func pluginClaims(j *judge) []claim {
	var claims []claim
	for _, name := range slices.Sorted(maps.Keys(j.s.Env)) {
		value := strings.TrimSpace(j.s.Env[name])
		ofPlugin := strings.HasPrefix(name, "PCIDEVICE_")
		_, hasInfo := j.s.Env[name+"_INFO"]
		plain, isInfo := strings.CutSuffix(name, "_INFO")
		_, hasPlain := j.s.Env[plain]
		isInfo = isInfo && (strings.HasPrefix(value, "{") || ofPlugin && hasPlain)
		switch {
		case !ofPlugin && !isInfo && !hasInfo:
		case isInfo && j.idsOnly && j.s.Env[plain] != "":
		case isInfo && value != "":
			claims = append(claims, infoClaims(j, name, value)...)
		case value == "":
			j.conflict(check.Finding{
				Check: AllocationReadable, Status: check.Warn, Subject: check.EnvRef(name),
				Summary:  "the device plugin lists no device in this variable",
				Evidence: []check.Evidence{{Source: name, Got: "empty", Want: "PCI addresses"}},
			})
		default:
			claims = append(claims, listClaims(name, value)...)
		}
	}
	return claims
}

// listClaims reads a list of PCI addresses.
func listClaims(source, list string) []claim {
	var claims []claim
	for id := range strings.SplitSeq(list, ",") {
		if id = strings.TrimSpace(id); id != "" {
			claims = append(claims, claim{source: source, id: id})
		}
	}
	return claims
}

func infoClaims(j *judge, name, value string) []claim {
	devices, err := parsePluginInfo(value)
	if err != nil {
		j.conflict(check.Finding{
			Check: AllocationReadable, Status: check.Warn, Subject: check.EnvRef(name),
			Summary: fmt.Sprintf("not readable after %s: %v; the plain list and sysfs are used for the rest",
				words.Count(len(devices), "device"), err),
			Evidence: []check.Evidence{{Source: name, Got: tail(value), Want: "JSON of the SR-IOV device plugin"}},
		})
	}
	claims := make([]claim, 0, len(devices))
	for _, d := range devices {
		c := claim{source: name, id: d.ID, rdmaDevice: d.RDMADevice, nonRDMA: d.NonRDMA}
		c.plain, c.uverbs = d.RDMADevice == "" && d.Uverbs == "", nodeName(d.Uverbs)
		claims = append(claims, c)
	}
	return claims
}

// nodeName returns uverbsN of /dev/infiniband/uverbsN.
func nodeName(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

// tail returns the end of a text, where truncated JSON is cut off.
func tail(s string) string {
	if len(s) > 40 {
		return "..." + s[len(s)-40:]
	}
	return s
}

// driverClaims reads the environment of dra-driver-sriov (pkg/cdi): SRIOVNETWORK_PCI_ADDRESSES,
// SRIOVNETWORK_VF_DEVICE_<D> and, for the same <D>, SRIOVNETWORK_<D>_RDMA_DEVICE and _RDMA_UVERB.
func driverClaims(j *judge) []claim {
	const prefix = "SRIOVNETWORK_"
	var claims []claim
	listed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(j.s.Env)) {
		rest, ok := strings.CutPrefix(name, prefix+"VF_DEVICE_")
		if !ok {
			continue
		}
		id := j.s.Env[name]
		listed[id] = true
		claims = append(claims, claim{
			source: name, id: id, rdmaDevice: j.s.Env[prefix+rest+"_RDMA_DEVICE"],
			uverbs: nodeName(j.s.Env[prefix+rest+"_RDMA_UVERB"]),
		})
	}
	for _, c := range listClaims(prefix+"PCI_ADDRESSES", j.s.Env[prefix+"PCI_ADDRESSES"]) {
		if !listed[c.id] {
			claims = append(claims, c)
		}
	}
	return claims
}
