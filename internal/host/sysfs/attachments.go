package sysfs

import (
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// podAnnotations is the downward-API file that network-resources-injector mounts (pkg/types/types.go); lines are
// key="Go-quoted value".
const (
	podAnnotations   = "etc/podnetinfo/annotations"
	networkStatusKey = host.NetworkStatusAnnotation + "="
)

func readNetworkStatus(in *input, s *host.Snapshot) { s.NetworkStatus = networkStatus(in.tree) }

// readNetworkStatusOfOthers does so unless a device plugin names the devices: multus only repeats them. Without a
// default route the interfaces count too.
func readNetworkStatusOfOthers(in *input, s *host.Snapshot) {
	if !namesDevices(s.Env) || len(s.Routes) == 0 {
		readNetworkStatus(in, s)
	}
}

func namesDevices(env map[string]string) bool {
	for name, value := range env {
		lists := strings.HasPrefix(name, "PCIDEVICE_") && !strings.HasSuffix(name, "_INFO")
		if lists && strings.Trim(value, ", ") != "" {
			return true
		}
	}
	return false
}

// networkStatus reads the attachments of multus, which alone tie net<N> to a PCI function and an RDMA device.
func networkStatus(t *tree) []host.NetworkStatus {
	annotations := t.file(podAnnotations)
	for line := range strings.Lines(annotations.Value) {
		quoted, ok := strings.CutPrefix(strings.TrimSpace(line), networkStatusKey)
		if !ok {
			continue
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.problem(podAnnotations, "parse", errors.New("network-status is not a quoted string"))
			return nil
		}
		status, err := host.ParseNetworkStatus(text)
		if err != nil {
			t.problem(podAnnotations, "parse", err)
		}
		return status
	}
	return nil
}

// draMetadata is the folder in which KEP-5304 puts a file for each claim, request and driver
// (k8s.io/dynamic-resource-allocation api/metadata/doc.go).
const draMetadata = "var/run/kubernetes.io/dra-device-attributes"

// maxClaimFiles bounds the walk over DRA metadata.
const maxClaimFiles = 256

func readClaims(in *input, s *host.Snapshot) {
	t := in.tree
	if !t.exists(draMetadata) {
		return
	}
	files := 0
	for _, kind := range []string{"resourceclaims", "resourceclaimtemplates"} {
		for _, claim := range t.list(path.Join(draMetadata, kind)) {
			for _, request := range t.list(path.Join(draMetadata, kind, claim)) {
				dir := path.Join(draMetadata, kind, claim, request)
				for _, file := range t.list(dir) {
					if files++; files > maxClaimFiles || !strings.HasSuffix(file, "-metadata.json") {
						continue
					}
					s.Claims = append(s.Claims, claimFile(t, path.Join(dir, file), claim)...)
				}
			}
		}
	}
}

// claimFile reads the first of the concatenated objects: they are the same metadata, newest API version first.
func claimFile(t *tree, name, claim string) []host.ClaimDevice {
	text := t.file(name)
	if !text.IsKnown() {
		return nil
	}
	devices, err := parseDRAMetadata(text.Value, claim)
	if err != nil {
		t.problem(name, "parse", err)
	}
	return devices
}

func parseDRAMetadata(text, claim string) ([]host.ClaimDevice, error) {
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
	var devices []host.ClaimDevice
	for _, request := range metadata.Requests {
		for _, d := range request.Devices {
			c := host.ClaimDevice{Claim: claim, Request: request.Name, Driver: d.Driver, Name: d.Name}
			c.Interface = d.NetworkData.InterfaceName
			for _, name := range []string{"resource.kubernetes.io/pciBusID", "dra.net/pciAddress"} {
				if a := attribute(d.Attributes[name]); a != "" && !c.PCI.IsKnown() {
					c.PCI = host.Convert(host.Know(a), host.ParsePCIAddress)
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
