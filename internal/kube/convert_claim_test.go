package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
)

func TestConvertClaim(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want cluster.ResourceClaim
	}{
		"allocated, with the report of dranet": {`
metadata:
  namespace: train
  name: h-kim-0-rails-x7k2p
  ownerReferences: [{apiVersion: v1, kind: Pod, name: h-kim-0, controller: true}]
spec:
  devices:
    requests:
    - name: rail-0
      exactly:
        deviceClassName: dranet
        selectors: [{cel: {expression: 'device.attributes["dra.net"].ifName == "eth2"'}}]
        allocationMode: ExactCount
        count: 1
status:
  allocation:
    devices: {results: [{request: rail-0, driver: dra.net, pool: w1, device: pci-0000-18-00-0}]}
  reservedFor: [{resource: pods, name: h-kim-0, uid: u}]
  devices:
  - driver: dra.net
    pool: w1
    device: pci-0000-18-00-0
    conditions: [{type: RDMALinkReady, status: "False", reason: Busy, message: device or resource busy}]
`, cluster.ResourceClaim{
			Namespace: "train", Name: "h-kim-0-rails-x7k2p", Pod: "h-kim-0", Allocated: true, Users: []string{"h-kim-0"},
			Requests: []cluster.ClaimRequest{
				{Name: "rail-0", Class: "dranet", Selectors: []string{`device.attributes["dra.net"].ifName == "eth2"`}},
			},
			Devices: []cluster.ClaimedDevice{
				{Request: "rail-0", Driver: "dra.net", Pool: "w1", Name: "pci-0000-18-00-0"},
			},
			Conditions: []cluster.DeviceCondition{{
				Driver: "dra.net", Device: "pci-0000-18-00-0", Type: "RDMALinkReady", Status: "False", Reason: "Busy",
				Message: "device or resource busy",
			}},
		}},
		"v1beta1, pending": {`
metadata: {namespace: train, name: shared}
spec: {devices: {requests: [{name: nic, deviceClassName: dranet, selectors: [{cel: {expression: "true"}}]}]}}
`, cluster.ResourceClaim{
			Namespace: "train", Name: "shared",
			Requests: []cluster.ClaimRequest{{Name: "nic", Class: "dranet", Selectors: []string{"true"}}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, convertClaim(from[resourceClaim](t, test.yaml))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConvertDeviceClass(t *testing.T) {
	got := convertDeviceClass(from[deviceClass](t, `
metadata: {name: dranet}
spec: {selectors: [{cel: {expression: device.driver == "dra.net"}}]}
`))
	want := cluster.DeviceClass{Name: "dranet", Selectors: []string{`device.driver == "dra.net"`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
