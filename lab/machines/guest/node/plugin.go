package node

import (
	"strings"

	"github.com/railhead/railhead/lab/machines/deviceplugin"
	"github.com/railhead/railhead/lab/machines/guest"
)

// DevicePluginArgument has this machine's init be the device plugin; the resources follow.
const DevicePluginArgument = "device-plugin"

// realPluginProgram is sriov-network-device-plugin itself, which takes the stand-in's place where the host's share
// has it.
const (
	realPluginProgram = guest.ProgramFolder + "/" + guest.RealDevicePlugin
	realPluginConfig  = "/etc/pcidp/config.json"
)

// RegisteredFile is there as soon as the kubelet knows the resources of the device plugin.
const RegisteredFile = "/run/lab/registered"

// realPools is the configuration of sriov-network-device-plugin.
type realPools struct {
	ResourceList []realPool `json:"resourceList"`
}

type realPool struct {
	ResourcePrefix string        `json:"resourcePrefix"`
	ResourceName   string        `json:"resourceName"`
	Selectors      realSelectors `json:"selectors"`
}

type realSelectors struct {
	PFNames []string `json:"pfNames"`
	IsRDMA  bool     `json:"isRdma"`
}

func realPlugin(resources []guest.Resource) realPools {
	pools := realPools{ResourceList: []realPool{}}
	for _, r := range resources {
		prefix, name, _ := strings.Cut(r.Name, "/")
		pools.ResourceList = append(pools.ResourceList, realPool{prefix, name, realSelectors{[]string{r.Card}, true}})
	}
	return pools
}

// standInArguments make this machine's init the device plugin.
func standInArguments(resources []guest.Resource) []string {
	args := []string{DevicePluginArgument}
	for _, r := range resources {
		args = append(args, deviceplugin.Resource{Name: r.Name, Card: r.Card}.String())
	}
	return args
}
