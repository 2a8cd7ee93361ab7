package host

import (
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"
)

// NetworkStatusAnnotation is what multus writes to a pod: its interfaces, and what they are of.
const NetworkStatusAnnotation = "k8s.v1.cni.cncf.io/network-status"

// podAnnotations is the downward-API file that network-resources-injector mounts (pkg/types/types.go); lines are
// key="Go-quoted value".
const (
	podAnnotations   = "etc/podnetinfo/annotations"
	networkStatusKey = NetworkStatusAnnotation + "="
)

// networkStatus reads what multus attached, the one place that ties net<N> to a PCI function and an RDMA device.
func (r *reader) networkStatus() []NetworkStatus {
	annotations := r.file(podAnnotations)
	for line := range strings.Lines(annotations.Value) {
		quoted, ok := strings.CutPrefix(strings.TrimSpace(line), networkStatusKey)
		if !ok {
			continue
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			r.problem(podAnnotations, "parse", errors.New("network-status is not a quoted string"))
			return nil
		}
		status, err := ParseNetworkStatus(text)
		if err != nil {
			r.problem(podAnnotations, "parse", err)
		}
		return status
	}
	return nil
}

// ParseNetworkStatus reads a pod's NetworkStatusAnnotation.
func ParseNetworkStatus(text string) ([]NetworkStatus, error) {
	var items []struct {
		Name       string   `json:"name"`
		Interface  string   `json:"interface"`
		IPs        []string `json:"ips"`
		Default    bool     `json:"default"`
		DeviceInfo struct {
			PCI struct {
				Address    string `json:"pci-address"`
				RDMADevice string `json:"rdma-device"`
			} `json:"pci"`
		} `json:"device-info"`
	}
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, err
	}
	status := make([]NetworkStatus, 0, len(items))
	for _, item := range items {
		n := NetworkStatus{Name: item.Name, Interface: item.Interface, IPs: item.IPs, Default: item.Default}
		n.RDMADevice = item.DeviceInfo.PCI.RDMADevice
		if a := item.DeviceInfo.PCI.Address; a != "" {
			n.PCI = convert(Know(a), ParsePCIAddress)
		}
		status = append(status, n)
	}
	return status, nil
}

// draMetadata is where KEP-5304 puts a file per claim, request and driver (k8s.io/dynamic-resource-allocation
// api/metadata/doc.go).
const draMetadata = "var/run/kubernetes.io/dra-device-attributes"

// maxClaimFiles bounds the walk over DRA metadata.
const maxClaimFiles = 256

// claims reads the devices of the pod's DRA claims.
func (r *reader) claims() []ClaimDevice {
	if !r.exists(draMetadata) {
		return nil
	}
	var devices []ClaimDevice
	files := 0
	for _, kind := range []string{"resourceclaims", "resourceclaimtemplates"} {
		for _, claim := range r.list(path.Join(draMetadata, kind)) {
			for _, request := range r.list(path.Join(draMetadata, kind, claim)) {
				dir := path.Join(draMetadata, kind, claim, request)
				for _, file := range r.list(dir) {
					if files++; files > maxClaimFiles || !strings.HasSuffix(file, "-metadata.json") {
						continue
					}
					devices = append(devices, r.claimFile(path.Join(dir, file), claim)...)
				}
			}
		}
	}
	return devices
}

// claimFile reads the first of the concatenated objects: they are the same metadata, newest API version first.
func (r *reader) claimFile(name, claim string) []ClaimDevice {
	text := r.file(name)
	if !text.IsKnown() {
		return nil
	}
	devices, err := parseDRAMetadata(text.Value, claim)
	if err != nil {
		r.problem(name, "parse", err)
	}
	return devices
}

func parseDRAMetadata(text, claim string) ([]ClaimDevice, error) {
	var metadata struct {
		Requests []struct {
			Name    string `json:"name"`
			Devices []struct {
				Driver      string                                `json:"driver"`
				Name        string                                `json:"name"`
				Attributes  map[string]map[string]json.RawMessage `json:"attributes"`
				NetworkData struct {
					InterfaceName string `json:"interfaceName"`
				} `json:"networkData"`
			} `json:"devices"`
		} `json:"requests"`
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&metadata); err != nil {
		return nil, err
	}
	var devices []ClaimDevice
	for _, request := range metadata.Requests {
		for _, d := range request.Devices {
			c := ClaimDevice{Claim: claim, Request: request.Name, Driver: d.Driver, Name: d.Name}
			c.Interface = d.NetworkData.InterfaceName
			for _, name := range []string{"resource.kubernetes.io/pciBusID", "dra.net/pciAddress"} {
				if a := attribute(d.Attributes[name]); a != "" && !c.PCI.IsKnown() {
					c.PCI = convert(Know(a), ParsePCIAddress)
				}
			}
			c.RDMADevice = attribute(d.Attributes["dra.net/rdmaDevice"])
			devices = append(devices, c)
		}
	}
	return devices, nil
}

// attribute returns the string form of {"string": "..."}.
func attribute(value map[string]json.RawMessage) string {
	var text string
	_ = json.Unmarshal(value["string"], &text) // absent or of another type: empty
	return text
}
