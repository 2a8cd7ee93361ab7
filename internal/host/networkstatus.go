package host

import "encoding/json"

// NetworkStatusAnnotation is the annotation in which multus describes the interfaces of a pod.
const NetworkStatusAnnotation = "k8s.v1.cni.cncf.io/network-status"

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
			n.PCI = Convert(Know(a), ParsePCIAddress)
		}
		status = append(status, n)
	}
	return status, nil
}
