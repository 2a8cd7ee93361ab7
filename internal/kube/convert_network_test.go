package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
)

func TestConvertNetwork(t *testing.T) {
	got := convertNetwork(from[networkAttachment](t, `
metadata:
  namespace: train
  name: eno5np0-network
  annotations:
    k8s.v1.cni.cncf.io/resourceName: openshift.io/eno5np0rdma
    sriovnetwork.openshift.io/owner-ref: >-
      sriovnetwork.openshift.io/v1, Kind=SriovNetwork/openshift-sriov-network-operator/eno5np0-network
spec:
  config: "{\"cniVersion\":\"1.0.0\",\"name\":\"eno5np0-network\",\"type\":\"sriov\",\"vlan\":0,\
    \"ipam\":{\"type\":\"whereabouts\",\"range\":\"192.168.75.0/24\"}}"
`))
	want := cluster.Network{
		Namespace: "train", Name: "eno5np0-network", Resource: "openshift.io/eno5np0rdma", Type: "sriov",
		Config: `{"cniVersion":"1.0.0","name":"eno5np0-network","type":"sriov","vlan":0,"ipam":{"type":"whereabouts",` +
			`"range":"192.168.75.0/24"}}`,
		Owner: "sriovnetwork.openshift.io/v1, Kind=SriovNetwork/openshift-sriov-network-operator/eno5np0-network",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseCNI(t *testing.T) {
	type answer struct {
		Kind   string
		RDMA   bool
		Broken string
	}
	for name, test := range map[string]struct {
		config string
		want   answer
	}{
		"one plugin": {`{"type":"host-device"}`, answer{Kind: "host-device"}},
		"chain with rdma": {
			`{"name":"n","plugins":[{"type":"ib-sriov"},{"type":"rdma"}]}`,
			answer{Kind: "ib-sriov", RDMA: true},
		},
		"chain without": {
			`{"plugins":[{"type":"macvlan"},{"type":"tuning"}]}`,
			answer{Kind: "macvlan"},
		},
		"empty: the node's own is used": {" \n", answer{}},
		"no JSON": {
			`type: sriov`,
			answer{Broken: "spec.config: invalid character 'y' in literal true (expecting 'r')"},
		},
		"cut off":   {`{"type":`, answer{Broken: "spec.config: unexpected end of JSON input"}},
		"no type":   {`{"cniVersion":"1.0.0"}`, answer{Broken: "spec.config names no plugin type"}},
		"no object": {`null`, answer{Broken: "spec.config names no plugin type"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got answer
			got.Kind, got.RDMA, got.Broken = parseCNI(test.config)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseCNI(f *testing.F) {
	f.Add(`{"type":"sriov"}`)
	f.Add(`{"plugins":[{"type":"sriov"},{"type":"rdma"}]}`)
	f.Add(``)
	f.Fuzz(func(t *testing.T, config string) {
		kind, rdma, broken := parseCNI(config)
		if broken != "" && (kind != "" || rdma) {
			t.Errorf("%q is broken (%s) and of type %q", config, broken, kind)
		}
	})
}

func TestConvertSriov(t *testing.T) {
	network := sriovNetworkOf("SriovIBNetwork")(from[anyObject](t, `
metadata: {namespace: openshift-sriov-network-operator, name: ib0}
spec: {networkNamespace: train, resourceName: ib0rdma, ipam: "{}", vlan: 5}
`))
	wantNetwork := cluster.SriovNetwork{
		Kind: "SriovIBNetwork", Namespace: "openshift-sriov-network-operator", Name: "ib0",
		TargetNamespace: "train", ResourceName: "ib0rdma",
		Spec: map[string]any{"networkNamespace": "train", "resourceName": "ib0rdma", "ipam": "{}", "vlan": int64(5)},
	}
	if diff := cmp.Diff(wantNetwork, network); diff != "" {
		t.Error("network:", diff)
	}
	policy := convertPolicy(from[sriovPolicy](t, `
metadata: {namespace: openshift-sriov-network-operator, name: eno5np0}
spec:
  resourceName: eno5np0rdma
  nodeSelector: {nvidia.com/gpu.present: "true"}
  numVfs: 1
  mtu: 9000
  isRdma: true
  deviceType: netdevice
  linkType: eth
  nicSelector: {vendor: "15b3", deviceID: "1021", pfNames: ["eno5np0#0-0"], rootDevices: ["0000:18:00.0"]}
`))
	wantPolicy := cluster.SriovPolicy{
		Namespace: "openshift-sriov-network-operator", Name: "eno5np0", ResourceName: "eno5np0rdma",
		NodeSelector: map[string]string{
			"nvidia.com/gpu.present": "true",
		}, VFs: 1, MTU: 9000, RDMA: true, DeviceType: "netdevice", LinkType: "eth",
		Vendor: "15b3", DeviceID: "1021", PFs: []string{"eno5np0#0-0"}, RootDevices: []string{"0000:18:00.0"},
	}
	if diff := cmp.Diff(wantPolicy, policy); diff != "" {
		t.Error("policy:", diff)
	}
}

func TestConvertSriovNode(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want cluster.SriovNode
	}{
		"synced": {`
metadata: {namespace: openshift-sriov-network-operator, name: moc-r4pcc02u15}
spec: {interfaces: [{name: eno5np0, numVfs: 1, pciAddress: "0000:18:00.0"}]}
status:
  syncStatus: Succeeded
  system: {rdmaMode: exclusive}
  interfaces:
  - name: eno5np0
    pciAddress: "0000:18:00.0"
    vendor: "15b3"
    deviceID: "1021"
    driver: mlx5_core
    linkSpeed: 400000 Mb/s
    linkType: ETH
    linkAdminState: up
    mac: b8:3f:d2:03:00:aa
    mtu: 9000
    totalvfs: 16
    numVfs: 1
    eSwitchMode: legacy
    Vfs: [{name: eno5v0, pciAddress: "0000:18:00.1", vfID: 0, Vlan: 0}]
`,
			cluster.SriovNode{Namespace: "openshift-sriov-network-operator", Node: "moc-r4pcc02u15",
				SyncStatus: "Succeeded", RDMAMode: "exclusive",
				Interfaces: []cluster.SriovInterface{{Name: "eno5np0", PCI: "0000:18:00.0", Vendor: "15b3",
					DeviceID: "1021", Driver: "mlx5_core",
					LinkSpeed: "400000 Mb/s", LinkType: "ETH", LinkState: "up", MAC: "b8:3f:d2:03:00:aa",
					MTU: 9000, TotalVFs: 16, VFs: 1, Wanted: 1}}}},
		"failed, of an older operator": {`
metadata: {namespace: sriov, name: w1}
status: {syncStatus: Failed, lastSyncError: "cannot config SRIOV device 0000:18:00.0", rdmaMode: shared}
`, cluster.SriovNode{
			Namespace:  "sriov",
			Node:       "w1",
			SyncStatus: "Failed",
			SyncError:  "cannot config SRIOV device 0000:18:00.0",
			RDMAMode:   "shared",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, convertSriovNode(from[sriovNodeState](t, test.yaml))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConvertSlice(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want []cluster.DRADevice
	}{
		"dranet, v1": {`
metadata: {name: w1-dra.net-x}
spec:
  driver: dra.net
  nodeName: w1
  pool: {name: w1, generation: 3, resourceSliceCount: 1}
  devices:
  - name: pci-0000-18-00-0
    attributes:
      dra.net/rdma: {bool: true}
      dra.net/ifName: {string: eno5np0}
      dra.net/numaNode: {int: 0}
      resource.kubernetes.io/pcieRoot: {string: "pci0000:15"}
  - name: normalized-eth0
    attributes: {dra.net/rdma: {bool: false}}
  - name: says-nothing
    attributes: {dra.net/ifName: {string: lo}}
`, []cluster.DRADevice{
			{Driver: "dra.net", Pool: "w1", Node: "w1", Name: "pci-0000-18-00-0", RDMA: true, Attribute: map[string]string{
				"dra.net/rdma": "true", "dra.net/ifName": "eno5np0", "dra.net/numaNode": "0",
				"resource.kubernetes.io/pcieRoot": "pci0000:15"}},
			{
				Driver:    "dra.net",
				Pool:      "w1",
				Node:      "w1",
				Name:      "normalized-eth0",
				Attribute: map[string]string{"dra.net/rdma": "false"},
			},
		}},
		"v1beta1, attributes in the driver's own domain": {`
metadata: {name: w1-sriov}
spec:
  driver: sriovnetwork.k8snetworkplumbingwg.io
  nodeName: w1
  devices:
  - name: 0000-18-00-1
    basic: {attributes: {rdmaCapable: {bool: true}, firmware: {version: 28.39.1002}}}
`,
			[]cluster.DRADevice{{Driver: "sriovnetwork.k8snetworkplumbingwg.io", Node: "w1",
				Name: "0000-18-00-1", RDMA: true, Attribute: map[string]string{
					"sriovnetwork.k8snetworkplumbingwg.io/rdmaCapable": "true",
					"sriovnetwork.k8snetworkplumbingwg.io/firmware":    "28.39.1002"}}}},
		"each device on its own node": {`
metadata: {name: fabric}
spec:
  driver: dra.net
  perDeviceNodeSelection: true
  devices: [{name: a, nodeName: w2, attributes: {rdma: {bool: true}}}]
`, []cluster.DRADevice{
			{
				Driver:    "dra.net",
				Node:      "w2",
				Name:      "a",
				RDMA:      true,
				Attribute: map[string]string{"dra.net/rdma": "true"},
			},
		}},
		"whole GPUs, one with a taint": {`
metadata: {name: w1-gpu}
spec:
  driver: gpu.nvidia.com
  nodeName: w1
  devices:
  - {name: gpu-0, attributes: {type: {string: gpu}}, taints: [{key: seen, effect: None}, {key: xid, effect: NoSchedule}]}
  - {name: gpu-0-mig-1, attributes: {type: {string: mig}}}
`, []cluster.DRADevice{{
			Driver:    "gpu.nvidia.com",
			Node:      "w1",
			Name:      "gpu-0",
			GPU:       true,
			Taint:     "xid",
			Attribute: map[string]string{"gpu.nvidia.com/type": "gpu"},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, convertSlice(from[resourceSlice](t, test.yaml))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
