package cluster

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/words"
)

// ClaimKinds returns the lists that say which devices pods can claim, and which they have.
func ClaimKinds() []Kind { return []Kind{DRADevices, DeviceClasses, ResourceClaims} }

// DRADevice is one device of a ResourceSlice that is a network device with RDMA, or a GPU.
type DRADevice struct {
	Driver    string            `json:"driver"` // dra.net
	Pool      string            `json:"pool,omitempty"`
	Node      string            `json:"node"`
	Name      string            `json:"name"`
	RDMA      bool              `json:"rdma"`
	GPU       bool              `json:"gpu,omitempty"`
	Taint     string            `json:"taint,omitempty"` // key of the first that keeps claims away
	Attribute map[string]string `json:"attributes,omitempty"`
}

// DeviceClass is one DRA device class: the devices that match all of its selectors.
type DeviceClass struct {
	Name      string   `json:"name"`
	Selectors []string `json:"selectors,omitempty"` // CEL expressions
}

// ResourceClaim is one claim of devices, with the devices that it was given.
type ResourceClaim struct {
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	Pod        string            `json:"pod,omitempty"` // that it was made for
	Requests   []ClaimRequest    `json:"requests,omitempty"`
	Allocated  bool              `json:"allocated,omitempty"`
	Devices    []ClaimedDevice   `json:"devices,omitempty"`
	Users      []string          `json:"users,omitempty"` // pods that it is reserved for
	Conditions []DeviceCondition `json:"conditions,omitempty"`
}

// ClaimRequest is one request of a claim.
type ClaimRequest struct {
	Name      string   `json:"name"`
	Class     string   `json:"class,omitempty"` // empty: it has alternatives
	Selectors []string `json:"selectors,omitempty"`
}

// ClaimedDevice is a device that a claim was given.
type ClaimedDevice struct {
	Request string `json:"request"`
	Driver  string `json:"driver"`
	Pool    string `json:"pool"`
	Name    string `json:"name"`
}

// deviceID identifies a device in the cluster.
type deviceID struct{ driver, pool, name string }

func (d DRADevice) id() deviceID     { return deviceID{d.Driver, d.Pool, d.Name} }
func (c ClaimedDevice) id() deviceID { return deviceID{c.Driver, c.Pool, c.Name} }

// Is reports whether a claim was given the device.
func (c ClaimedDevice) Is(d DRADevice) bool { return c.id() == d.id() }

// DeviceCondition is a condition of a claimed device, set by its driver (status.devices of a ResourceClaim).
type DeviceCondition struct {
	Driver  string `json:"driver"`
	Device  string `json:"device"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// PCIeRoot is the attribute of a device that names its PCIe root complex (k8s.io/dynamic-resource-allocation
// deviceattribute).
const PCIeRoot = "resource.kubernetes.io/pcieRoot"

// The drivers whose network devices pods can claim as rails, and NVIDIA's drivers of GPUs and ComputeDomains.
const (
	DRANet   = "dra.net"                              // kubernetes-sigs/dranet
	DRASriov = "sriovnetwork.k8snetworkplumbingwg.io" // k8snetworkplumbingwg/dra-driver-sriov
	DRAGPU   = "gpu.nvidia.com"                       // NVIDIA/k8s-dra-driver-gpu
	DRAIMEX  = "compute-domain.nvidia.com"            // kubernetes-sigs/dra-driver-nvidia-gpu
)

// The attributes of dranet that tell rails apart. A virtual function is of the rail of its PCI bus: dranet does not
// tell its physical function.
const (
	dranetAddress   = DRANet + "/pciAddress"
	dranetInterface = DRANet + "/ifName"
	dranetRDMA      = DRANet + "/rdmaDevice"
	dranetHasRDMA   = DRANet + "/rdma"
	dranetVF        = DRANet + "/isSriovVf"
)

// railOf returns the attribute that names the rail of a device, equal on nodes of one type, and its value; none if pods
// cannot claim the device as a rail. Sources: dranet pkg/apis/attributes.go, dra-driver-sriov pkg/consts/consts.go.
func railOf(d DRADevice) (attribute, rail string) {
	if !d.RDMA || d.Taint != "" || d.IsEFA() {
		return "", ""
	}
	candidates := []string{DRASriov + "/PFName"}
	if d.Driver == DRANet {
		vfs := d.Attribute[DRANet+"/sriovVfs"]
		switch address := d.Attribute[dranetAddress]; {
		case d.Attribute[dranetVF] == "true":
			return dranetAddress, address[:max(strings.LastIndex(address, ":"), 0)]
		case vfs != "" && vfs != "0": // its virtual functions are the rails
			return "", ""
		}
		candidates = []string{dranetInterface, dranetRDMA} // InfiniBand may have no interface
	}
	for _, attribute := range candidates {
		if rail := d.Attribute[attribute]; rail != "" {
			return attribute, rail
		}
	}
	return "", ""
}

// ClaimRails are the rails that pods can claim, by driver and in the natural order of their names.
func (s State) ClaimRails() []Rail {
	var rails []Rail
	for _, d := range s.DRADevices {
		attribute, name := railOf(d)
		if name == "" {
			continue
		}
		i := slices.IndexFunc(rails, func(r Rail) bool { return r.Driver == d.Driver && r.Network == name })
		if i < 0 {
			i = len(rails)
			r := Rail{Network: name, Driver: d.Driver, Attribute: attribute, RDMA: true, PerNode: map[string]int64{}}
			rails = append(rails, r)
		}
		rails[i].PerNode[d.Node]++
	}
	slices.SortStableFunc(rails, func(a, b Rail) int {
		return cmp.Or(strings.Compare(a.Driver, b.Driver), words.Natural(a.Network, b.Network))
	})
	return rails
}

// Is reports whether both are the same port.
func (r Rail) Is(other Rail) bool { return r.Driver == other.Driver && r.Network == other.Network }

// Selector returns the CEL expression that is true for the devices of a claimed rail. It asks for the attribute first:
// reading one that a device lacks ends the allocation with an error.
func (r Rail) Selector() string {
	domain, name, _ := strings.Cut(r.Attribute, "/")
	of := `device.attributes["` + domain + `"].` + name
	if r.Attribute == dranetAddress {
		return "has(" + of + ") && " + of + `.startsWith("` + r.Network + `:")`
	}
	return "has(" + of + ") && " + of + ` == "` + r.Network + `"`
}

// RailOfDevice returns the rail of a claimed device; "" if it is none or not known.
func (s State) RailOfDevice(c ClaimedDevice) string {
	d, _ := find(s.DRADevices, c.Is)
	_, rail := railOf(d)
	return rail
}

// WithoutClaimed returns the State without the devices that claims hold.
func (s State) WithoutClaimed() State {
	held := map[deviceID]bool{}
	for _, c := range s.ResourceClaims {
		for _, d := range c.Devices {
			held[d.id()] = true
		}
	}
	s.DRADevices = slices.DeleteFunc(slices.Clone(s.DRADevices), func(d DRADevice) bool { return held[d.id()] })
	return s
}

// GPUsByRoot counts the GPUs of a node that pods can claim, by PCIe root.
func (s State) GPUsByRoot(node string) map[string]int {
	roots := map[string]int{}
	for _, d := range s.DRADevices {
		if d.Node == node && d.GPU && d.Taint == "" {
			roots[d.Attribute[PCIeRoot]]++
		}
	}
	return roots
}

// RootsOf returns the PCIe roots of the devices of a rail on a node.
func (s State) RootsOf(r Rail, node string) []string {
	roots := map[string]bool{}
	for _, d := range s.DRADevices {
		if _, rail := railOf(d); d.Node == node && d.Driver == r.Driver && rail == r.Network {
			roots[d.Attribute[PCIeRoot]] = true
		}
	}
	return slices.Sorted(maps.Keys(roots))
}

// harmlessTerm matches a part of a selector that is true for every RDMA device, or GPU, of its driver.
var harmlessTerm = regexp.MustCompile(`^(has\(device\.attributes\["[^"]+"\]\.(rdma|rdmaCapable|type)\)|` +
	`device\.attributes\["[^"]+"\]\.(rdma|rdmaCapable)( ?== ?true)?|device\.attributes\["[^"]+"\]\.type ?== ?"gpu")$`)

// ClassOf returns the device class that has all RDMA devices, or GPUs, of a driver: the one with the fewest conditions.
func (s State) ClassOf(driver string) (class string, found bool) {
	fewest := 0
	for _, c := range s.DeviceClasses {
		terms := Terms(c.Selectors)
		ofDriver := slices.ContainsFunc(terms, func(t string) bool { return DriverTerm(t) == driver })
		others := slices.ContainsFunc(terms, func(t string) bool {
			return DriverTerm(t) != driver && !harmlessTerm.MatchString(t)
		})
		if ofDriver && !others && (!found || len(terms) < fewest) {
			class, found, fewest = c.Name, true, len(terms)
		}
	}
	return class, found
}

// Terms returns the parts of CEL selectors that must all be true, with double quotes and single blanks.
func Terms(selectors []string) []string {
	var terms []string
	for _, s := range selectors {
		for term := range strings.SplitSeq(s, "&&") {
			term = strings.Join(strings.Fields(strings.ReplaceAll(term, "'", `"`)), " ")
			if term != "" {
				terms = append(terms, term)
			}
		}
	}
	return terms
}

var driverTerm = regexp.MustCompile(`^device\.driver ?== ?"([^"]+)"$`)

// DriverTerm returns the driver that a term requires; "" if it requires something else.
func DriverTerm(term string) string {
	if m := driverTerm.FindStringSubmatch(term); m != nil {
		return m[1]
	}
	return ""
}
