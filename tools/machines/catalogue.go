package main

import (
	"fmt"
	"slices"
)

// catalogue is every machine of testdata/hosts by file name.
var catalogue = map[string]func(*machine){
	"pod-roce-4vf":               podRoCE,
	"pod-roce-4vf-node-b":        podRoCENodeB,
	"pod-roce-two-containers":    podTwoContainers,
	"pod-infiniband-4vf":         podInfiniBand,
	"pod-infiniband-unallocated": podInfiniBandUnallocated,
	"pod-shared-plugin":          podShared,
	"pod-macvlan-shifted":        podMacvlan,
	"pod-exclusive-netns":        podExclusive,
	"pod-exclusive-unassigned":   podUnassigned,
	"pod-no-rdma":                podWithout,
	"pod-half-broken":            podHalfBroken,
	"pod-privileged":             podPrivileged,
	"pod-dra":                    podDRA,
	"pod-no-address":             podNoAddress,
	"host-baremetal-8x400":       bareMetal,
	"host-baremetal-one-vf":      bareMetalOneVF,
	"vm-soft-roce":               softRoCE,
	"vm-one-bus":                 oneBus,
}

// rail is one VF of a RoCE pod.
type rail struct {
	place  int    // of places
	vf     int    // number of the virtual function
	name   string // RDMA device
	uverbs int
	mac    string
	ip     string
}

// The same job on two nodes: only the RDMA names differ.
var (
	railsA = []rail{
		{0, 2, "mlx5_6", 6, "3a:11:00:00:00:01", "10.10.11.161"},
		{1, 2, "mlx5_7", 7, "3a:11:00:00:00:02", "10.10.12.161"},
		{4, 2, "mlx5_10", 10, "3a:11:00:00:00:03", "10.10.13.161"},
		{5, 2, "mlx5_11", 11, "3a:11:00:00:00:04", "10.10.14.161"},
	}
	railsB = []rail{
		{0, 3, "mlx5_7", 7, "3a:22:00:00:00:01", "10.10.11.162"},
		{1, 1, "mlx5_6", 6, "3a:22:00:00:00:02", "10.10.12.162"},
		{4, 1, "mlx5_8", 8, "3a:22:00:00:00:03", "10.10.13.162"},
		{5, 4, "mlx5_9", 9, "3a:22:00:00:00:04", "10.10.14.162"},
	}
)

// fourPlaces are those of the rails, two on each socket.
func fourPlaces() []place { return []place{places[0], places[1], places[4], places[5]} }

// otherPods are VFs of the same cards that other pods hold: shared mode shows them, their nodes are elsewhere.
func (m *machine) otherPods(node string) {
	for i, p := range fourPlaces() {
		address := m.vf(p, 7, 90+i, "identity")
		m.hca(hca{
			name:    fmt.Sprintf("mlx5_%d", 20+i),
			address: address,
			card:    cardGUID(p),
			uverbs:  20 + i,
			node:    node,
			gids:    usualTable("net1", fmt.Sprintf("3a:77:00:00:00:%02x", i+1), fmt.Sprintf("10.10.%d.77", 11+i)),
		})
	}
}

// physical shows the cards' own RDMA devices, whose interfaces are in the host's namespace.
func (m *machine) physical(node string) {
	for i, p := range fourPlaces() {
		m.hca(hca{
			name:    fmt.Sprintf("mlx5_%d", i),
			address: p.nic,
			card:    cardGUID(p),
			uverbs:  i,
			node:    node,
			hcaType: "MT4129",
			gids: usualTable(fmt.Sprintf("eno%dnp0", 5+i), fmt.Sprintf("b8:3f:d2:aa:00:%02x", i),
				fmt.Sprintf("192.168.%d.5", i)),
		})
	}
}

// roce makes the rails of a pod: VFs, RDMA devices, interfaces, the plugin's environment.
func (m *machine) roce(rails []rail) {
	var attached []attachment
	for i, r := range rails {
		a := attachTo(m, i, r, "ok")
		m.plugin(fmt.Sprintf("eno%dnp0rdma", 5+i), a.address, r.name, r.uverbs)
		attached = append(attached, a)
	}
	addAnnotations(m, "10.128.2.15", attached...)
}

// attachTo makes the VF of a rail with its RDMA device and its interface net<i+1>.
func attachTo(m *machine, i int, r rail, node string) attachment {
	p := places[r.place]
	address := m.vf(p, r.vf, 80+i, "identity")
	iface := fmt.Sprintf("net%d", i+1)
	m.hca(hca{
		name:    r.name,
		address: address,
		card:    cardGUID(p),
		uverbs:  r.uverbs,
		node:    node,
		gids:    usualTable(iface, r.mac, r.ip),
	})
	m.netdev(netdev{
		name:      iface,
		index:     10 + i,
		address:   address,
		mtu:       9000,
		mac:       r.mac,
		addresses: []string{r.ip + "/24"},
	})
	return attachment{"training/rail-" + fmt.Sprint(i+1), iface, r.ip, address, r.name}
}

func (m *machine) rocePod(hostname string, rails []rail) {
	m.system(hostname)
	m.container(1000700000, "unlimited", "0000000000000000", defaultCaps)
	m.podNetwork()
	at := fourPlaces()
	m.cards(at, "identity")
	m.gpus(at, 0, 1, 2, 3)
	m.roce(rails)
	m.otherPods("")
	m.physical("")
	m.library("2.27.3")
}

func podRoCE(m *machine) {
	m.comment = "A pod with four RoCE VFs on two NUMA nodes, shared RDMA namespace: other pods' VFs and the " +
		"physical functions show in sysfs.\n"
	m.rocePod("trainer-0", railsA)
}

func podRoCENodeB(m *machine) {
	m.comment = "The same pod on another node: other VFs, other RDMA names, another order.\n"
	m.rocePod("trainer-1", railsB)
}

func podTwoContainers(m *machine) {
	m.comment = "One container of two: the pod's networks are all its four VFs', this container was given two of " +
		"them and a function for DPDK.\n"
	m.system("trainer-0")
	m.container(1000700000, "unlimited", "0000000000000000", defaultCaps)
	m.podNetwork()
	at := fourPlaces()
	m.cards(at, "identity")
	m.gpus(at, 0, 1)
	var attached []attachment
	for i, r := range railsA {
		node := map[bool]string{true: "ok"}[i < 2]
		a := attachTo(m, i, r, node)
		if i < 2 {
			m.plugin(fmt.Sprintf("eno%dnp0rdma", 5+i), a.address, r.name, r.uverbs)
		}
		attached = append(attached, a)
	}
	addAnnotations(m, "10.128.2.15", attached...)
	m.pci(function{
		address:   "0000:05:02.0",
		below:     "pci0000:00/0000:00:05.0",
		class:     "0x020000",
		vendor:    "0x8086",
		device:    "0x1889",
		driver:    "vfio-pci",
		group:     40,
		groupType: "DMA",
	})
	m.probes.Environ["PCIDEVICE_OPENSHIFT_IO_DPDK"] = "0000:05:02.0"
	m.probes.Environ["PCIDEVICE_OPENSHIFT_IO_DPDK_INFO"] = `{"0000:05:02.0":` +
		`{"generic":{"deviceID":"0000:05:02.0"},"vfio":{"dev-mount":"/dev/vfio/40","mount":"/dev/vfio/vfio"}}}`
	m.library("2.27.3")
}

func podInfiniBand(m *machine) {
	m.comment = "A pod with four InfiniBand VFs, no IP on the rails, non-root with an inert CAP_IPC_LOCK.\n"
	for i, address := range m.infinibandPod("ok") {
		m.plugin("ibp"+fmt.Sprint(i), address, railsA[i].name, railsA[i].uverbs)
	}
}

func podInfiniBandUnallocated(m *machine) {
	m.comment = "A pod that asked for no RDMA resource on an InfiniBand node: nothing but the missing nodes tells " +
		"that the VFs are other pods'.\n"
	m.infinibandPod("")
}

// infinibandPod returns the PCI addresses of its VFs.
func (m *machine) infinibandPod(node string) []string {
	m.system("trainer-0")
	m.container(1000700000, "8388608", "0000000000000000", ipcLockCaps)
	m.podNetwork()
	at := fourPlaces()
	m.cards(at, "identity")
	m.gpus(at, 0, 1, 2, 3)
	var addresses []string
	for i, r := range railsA {
		address := m.vf(places[r.place], r.vf, 80+i, "identity")
		m.hca(hca{
			name:       r.name,
			address:    address,
			card:       cardGUID(places[r.place]),
			uverbs:     r.uverbs,
			node:       node,
			infiniband: true,
			lid:        fmt.Sprintf("0x%x", 0x1a+i),
			gids:       []slot{{0, fmt.Sprintf("fe80::b83f:d203:aa:%d", i+1), "IB/RoCE v1", ""}},
		})
		addresses = append(addresses, address)
	}
	m.library("2.21.5")
	return addresses
}

func podShared(m *machine) {
	m.comment = "The shared device plugin: no environment; the nodes of two physical functions are in the " +
		"container, their VLANs have the pod's addresses.\n"
	m.system("trainer-0")
	m.container(0, "unlimited", defaultCaps, defaultCaps)
	m.podNetwork()
	at := fourPlaces()
	m.cards(at, "identity")
	for i, p := range at {
		h := hca{
			name:    fmt.Sprintf("mlx5_%d", i),
			address: p.nic,
			card:    cardGUID(p),
			uverbs:  i,
			hcaType: "MT4129",
			gids: usualTable(fmt.Sprintf("eno%dnp0", 5+i), fmt.Sprintf("b8:3f:d2:aa:00:%02x", i),
				fmt.Sprintf("192.168.%d.5", i)),
		}
		if i < 2 {
			iface := fmt.Sprintf("net%d", i+1)
			mac, ip := fmt.Sprintf("3a:33:00:00:00:%02x", i+1), fmt.Sprintf("10.20.%d.7", i+1)
			h.node = "ok"
			for _, g := range usualTable(iface, mac, ip) {
				g.index += 4
				h.gids = append(h.gids, g)
			}
			m.netdev(netdev{
				name:      iface,
				index:     10 + i,
				lower:     4 + i,
				mtu:       9000,
				mac:       mac,
				addresses: []string{ip + "/24"},
			})
		}
		m.hca(h)
	}
	m.library("2.20.5")
}

func podMacvlan(m *machine) {
	m.comment = "Macvlan over shared HCAs: the GID tables hold other pods' addresses first, the pod's own are in " +
		"another slot on each rail.\n"
	m.system("trainer-0")
	m.container(0, "unlimited", defaultCaps, defaultCaps)
	m.podNetwork()
	at := fourPlaces()[:2]
	m.cards(at, "identity")
	for i, p := range at {
		iface := fmt.Sprintf("net%d", i+1)
		mac, ip := fmt.Sprintf("3a:44:00:00:00:%02x", i+1), fmt.Sprintf("10.30.%d.9", 8+i)
		h := hca{
			name:    fmt.Sprintf("mlx5_%d", i),
			address: p.nic,
			card:    cardGUID(p),
			uverbs:  i,
			node:    "ok",
			hcaType: "MT4129",
		}
		foreign := usualTable("net1", fmt.Sprintf("3a:99:00:00:00:%02x", i+1), fmt.Sprintf("10.30.%d.4", 40+i))
		own := usualTable(iface, mac, ip)
		for k := range foreign {
			foreign[k].index += 4
			own[k].index += 8 + 4*i
		}
		h.gids = slices.Concat(foreign, own)
		m.netdev(netdev{name: iface, index: 10 + i, lower: 4 + i, mtu: 9000, mac: mac, addresses: []string{ip + "/24"}})
		m.hca(h)
	}
	m.library("2.27.3")
}

func podExclusive(m *machine) {
	m.comment = "Exclusive RDMA namespace: the rdma CNI moved the VFs in, nothing else shows, but the class of " +
		"verbs nodes is not namespaced.\n"
	m.rocePodExclusive()
	m.roce(railsA)
}

func podUnassigned(m *machine) {
	m.comment = "Exclusive RDMA namespace without the rdma CNI: verbs nodes are here and do not open, their RDMA " +
		"devices are not in this namespace.\n"
	m.rocePodExclusive()
	for i, r := range railsA {
		address := m.vf(places[r.place], r.vf, 80+i, "identity")
		iface := fmt.Sprintf("net%d", i+1)
		m.netdev(netdev{
			name:      iface,
			index:     10 + i,
			address:   address,
			mtu:       9000,
			mac:       r.mac,
			addresses: []string{r.ip + "/24"},
		})
		m.plugin(fmt.Sprintf("eno%dnp0rdma", 5+i), address, r.name, r.uverbs)
		m.verbs(hca{name: r.name, address: address, uverbs: r.uverbs, node: "EPERM"})
	}
}

func (m *machine) rocePodExclusive() {
	m.system("trainer-0")
	m.file("sys/module/ib_core/parameters/netns_mode", "N")
	m.container(1000700000, "unlimited", "0000000000000000", defaultCaps)
	m.podNetwork()
	m.cards(fourPlaces(), "identity")
	m.library("2.27.3")
}

func podWithout(m *machine) {
	m.comment = "A pod that asked for no RDMA resource on a node that has it: the devices show in sysfs, no node " +
		"is in the container.\n"
	m.system("trainer-0")
	m.container(1000700000, "8388608", "0000000000000000", defaultCaps)
	m.podNetwork()
	at := fourPlaces()
	m.cards(at, "identity")
	m.gpus(at, 0, 1, 2, 3)
	m.physical("")
	m.otherPods("")
	m.library("2.27.3")
}

func podHalfBroken(m *machine) {
	m.comment = "Eight allocated VFs of which some are broken: a port down, a node that is not permitted, an " +
		"unreadable port, no address, half the rate, torn JSON.\n"
	m.system("trainer-0")
	m.container(0, "8388608", ipcLockCaps, ipcLockCaps)
	m.podNetwork()
	m.cards(places, "DMA-FQ")
	m.gpus(places, 0, 1, 2, 3, 4, 5, 6, 7)
	for i, p := range places {
		address := m.vf(p, 2, 80+i, "DMA-FQ")
		iface := fmt.Sprintf("net%d", i+1)
		mac, ip := fmt.Sprintf("3a:55:00:00:00:%02x", i+1), fmt.Sprintf("10.40.%d.3", i+1)
		h := hca{
			name:    fmt.Sprintf("mlx5_%d", 8+i),
			address: address,
			card:    cardGUID(p),
			uverbs:  8 + i,
			node:    "ok",
			gids:    usualTable(iface, mac, ip),
		}
		n := netdev{name: iface, index: 10 + i, address: address, mtu: 9000, mac: mac, addresses: []string{ip + "/24"}}
		switch i {
		case 1:
			h.state, h.phys, n.down = "1: DOWN", "3: Disabled", true
		case 2:
			h.node = "EPERM"
		case 4:
			h.gids, n.addresses = h.gids[:2], nil
		case 5:
			h.rate = "200 Gb/sec (4X HDR)"
		}
		m.hca(h)
		m.netdev(n)
		m.plugin(fmt.Sprintf("rail%d", i), address, h.name, h.uverbs)
		if i == 3 {
			dir := m.paths[address] + "/infiniband/" + h.name
			m.fails(dir+"/ports/1/state", "EIO")
			m.file(dir+"/ports/1/rate", "garbage")
			m.fails(dir+"/fw_ver", "EAGAIN")
		}
		if i == 6 {
			name := fmt.Sprintf("PCIDEVICE_OPENSHIFT_IO_RAIL%d_INFO", i)
			m.probes.Environ[name] = m.probes.Environ[name][:70]
		}
	}
	m.library("2.25.1")
}

func podPrivileged(m *machine) {
	m.comment = "A privileged pod with two allocated VFs: every node of the host opens, and the image's " +
		"NCCL_IB_HCA is a prefix that matches too much.\n"
	m.system("trainer-0")
	m.container(0, "unlimited", "000001ffffffffff", "000001ffffffffff")
	m.podNetwork()
	at := fourPlaces()
	m.cards(at, "identity")
	m.gpus(at, 0, 1, 2, 3)
	m.roce([]rail{
		{0, 2, "mlx5_2", 12, "3a:66:00:00:00:01", "10.10.11.163"},
		{1, 2, "mlx5_7", 7, "3a:66:00:00:00:02", "10.10.12.163"},
	})
	m.otherPods("ok")
	m.probes.Environ["NCCL_IB_HCA"] = "mlx5_2"
	m.probes.Environ["NCCL_IB_GID_INDEX"] = "5"
	m.probes.Environ["NCCL_SOCKET_IFNAME"] = "net1,net2"
	m.probes.Environ["NCCL_NET_GDR_LEVEL"] = "NODE"
	m.library("2.27.3")
}

func podDRA(m *machine) {
	m.comment = "Devices by dynamic resource allocation: one VF of dra-driver-sriov with its environment, one of " +
		"DRANET with a metadata file.\n"
	m.system("trainer-0")
	m.container(1000700000, "unlimited", "0000000000000000", defaultCaps)
	m.podNetwork()
	at := fourPlaces()[:2]
	m.cards(at, "identity")
	for i, p := range at {
		address := m.vf(p, 2, 80+i, "identity")
		iface := fmt.Sprintf("net%d", i+1)
		mac, ip := fmt.Sprintf("3a:88:00:00:00:%02x", i+1), fmt.Sprintf("10.50.%d.3", i+1)
		name := fmt.Sprintf("mlx5_%d", 4+i)
		m.hca(hca{
			name:    name,
			address: address,
			card:    cardGUID(p),
			uverbs:  4 + i,
			node:    "ok",
			gids:    usualTable(iface, mac, ip),
		})
		m.netdev(netdev{
			name:      iface,
			index:     10 + i,
			address:   address,
			mtu:       9000,
			mac:       mac,
			addresses: []string{ip + "/24"},
		})
		if i == 0 {
			m.probes.Environ["SRIOVNETWORK_PCI_ADDRESSES"] = address
			m.probes.Environ["SRIOVNETWORK_VF_DEVICE_0000_1a_00_2"] = address
			m.probes.Environ["SRIOVNETWORK_0000_1a_00_2_RDMA_DEVICE"] = name
			m.probes.Environ["SRIOVNETWORK_0000_1a_00_2_RDMA_UVERB"] = "/dev/infiniband/uverbs4"
			continue
		}
		const object = `{"apiVersion":"metadata.resource.k8s.io/%s","kind":"DeviceMetadata",` +
			`"metadata":{"name":"rail"},"requests":[{"name":"nic","devices":[{"driver":"dra.net",` +
			`"pool":"worker-0","name":"%s","attributes":{"resource.kubernetes.io/pciBusID":{"string":"%s"},` +
			`"dra.net/rdmaDevice":{"string":"%s"},"dra.net/rdma":{"bool":true}},` +
			`"networkData":{"interfaceName":"%s","ips":["%s/24"]}}]}]}`
		m.file("var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/rail/nic/dra.net-metadata.json",
			fmt.Sprintf(object+object, "v1beta1", "net-2", address, name, iface, ip, "v1alpha1", "net-2", address,
				name, iface, ip))
	}
	m.library("2.27.3")
}

func podNoAddress(m *machine) {
	m.comment = "Four RoCE VFs whose network attachments have no IPAM: link-local GIDs only.\n"
	m.system("trainer-0")
	m.container(1000700000, "unlimited", "0000000000000000", defaultCaps)
	m.podNetwork()
	m.cards(fourPlaces(), "identity")
	for i, r := range railsA {
		address := m.vf(places[r.place], r.vf, 80+i, "identity")
		iface := fmt.Sprintf("net%d", i+1)
		m.hca(hca{
			name:    r.name,
			address: address,
			card:    cardGUID(places[r.place]),
			uverbs:  r.uverbs,
			node:    "ok",
			gids:    usualTable(iface, r.mac, r.ip)[:2],
		})
		m.netdev(netdev{name: iface, index: 10 + i, address: address, mtu: 9000, mac: r.mac})
		m.plugin(fmt.Sprintf("eno%dnp0rdma", 5+i), address, r.name, r.uverbs)
	}
	m.library("2.27.3")
}

func bareMetal(m *machine) {
	m.comment = "A bare-metal node with eight 400 Gb/s InfiniBand HCAs, a storage NIC on RoCE and a 25 Gb/s " +
		"management NIC.\n"
	m.system("gpu-node-17")
	m.container(0, "unlimited", "000001ffffffffff", "000001ffffffffff")
	m.cards(places, "identity")
	m.gpus(places, 0, 1, 2, 3, 4, 5, 6, 7)
	for i, p := range places {
		m.hca(hca{
			name:       fmt.Sprintf("mlx5_%d", i),
			address:    p.nic,
			card:       cardGUID(p),
			uverbs:     i,
			node:       "ok",
			infiniband: true,
			hcaType:    "MT4129",
			lid:        fmt.Sprintf("0x%x", 0x40+i),
			gids:       []slot{{0, fmt.Sprintf("fe80::b83f:d203:bb:%d", i+1), "IB/RoCE v1", ""}},
		})
		m.netdev(netdev{name: fmt.Sprintf("ibp%ds0", i), index: 10 + i, address: p.nic, mtu: 4092})
	}
	storage := function{
		address:   "0000:05:00.0",
		below:     "pci0000:00/0000:00:05.0",
		class:     "0x020000",
		vendor:    "0x15b3",
		device:    "0x101d",
		driver:    "mlx5_core",
		group:     40,
		groupType: "identity",
		speed:     "16.0 GT/s PCIe",
	}
	m.pci(storage)
	m.hca(hca{
		name:    "mlx5_bond_0",
		address: storage.address,
		card:    guid("storage"),
		uverbs:  8,
		node:    "ok",
		hcaType: "MT4125",
		rate:    "200 Gb/sec (2X NDR)",
		gids:    usualTable("bond0", "b8:3f:d2:cc:00:01", "172.20.0.17"),
	})
	m.netdev(netdev{
		name:      "bond0",
		index:     30,
		mtu:       9000,
		mac:       "b8:3f:d2:cc:00:01",
		addresses: []string{"172.20.0.17/22"},
	})
	m.netdev(netdev{
		name:      "eno1",
		index:     2,
		mtu:       1500,
		mac:       "b8:3f:d2:cc:00:02",
		addresses: []string{"10.1.0.17/24"},
		gateway:   true,
	})
	m.library("2.28.9")
}

func bareMetalOneVF(m *machine) {
	bareMetal(m)
	m.comment = "The bare-metal node with one virtual function that somebody made and forgot.\n"
	last := places[len(places)-1]
	m.hca(hca{
		name:       "mlx5_9",
		address:    m.vf(last, 1, 90, "identity"),
		card:       cardGUID(last),
		uverbs:     9,
		node:       "ok",
		infiniband: true,
		lid:        "0x50",
		gids:       []slot{{0, "fe80::b83f:d203:bb:9", "IB/RoCE v1", ""}},
	})
}

func softRoCE(m *machine) {
	m.comment = "A virtual machine with Soft-RoCE over a virtio interface: no PCI function, no IOMMU, no GPU.\n"
	m.system("lab-node-a")
	m.container(0, "8388608", ipcLockCaps, ipcLockCaps)
	m.netdev(netdev{
		name:      "enp1s0",
		index:     2,
		mtu:       1500,
		mac:       "52:54:00:aa:00:01",
		addresses: []string{"10.0.0.1/24"},
		gateway:   true,
	})
	dir := "sys/devices/virtual/infiniband/rxe0"
	m.link("sys/class/infiniband/rxe0", dir)
	m.files(dir,
		map[string]string{
			"node_type":      "1: CA",
			"node_guid":      "5054:00ff:feaa:0001",
			"sys_image_guid": "5054:00ff:feaa:0001",
			"parent":         "enp1s0",
			"fw_ver":         "",
		})
	m.port(dir+"/ports/1", hca{
		rate:  "2.5 Gb/sec (1X SDR)",
		table: 1024,
		gids: []slot{
			{0, linkLocal("52:54:00:aa:00:01"), "RoCE v2", "enp1s0"}, {1, "::ffff:10.0.0.1", "RoCE v2", "enp1s0"},
		},
	})
	m.file("sys/class/infiniband_verbs/uverbs0/ibdev", "rxe0")
	m.file("dev/infiniband/uverbs0", "")
	m.probes.Open["dev/infiniband/uverbs0"] = "ok"
}

func oneBus(m *machine) {
	m.comment = "A virtual machine with two passed-through NICs of different cards on one PCI bus: NCCL would " +
		"join them.\n"
	m.system("vm-0")
	m.container(0, "unlimited", defaultCaps, defaultCaps)
	m.podNetwork()
	for i := range 2 {
		f := function{
			address: fmt.Sprintf("0000:00:%02x.0", 5+i),
			below:   "pci0000:00",
			class:   "0x020000",
			vendor:  "0x15b3",
			device:  "0x101e",
			driver:  "mlx5_core",
		}
		m.pci(f)
		iface := fmt.Sprintf("net%d", i+1)
		mac, ip := fmt.Sprintf("3a:aa:00:00:00:%02x", i+1), fmt.Sprintf("10.60.%d.3", i+1)
		m.hca(hca{
			name:    fmt.Sprintf("mlx5_%d", i),
			address: f.address,
			card:    guid(fmt.Sprint("vm", i)),
			uverbs:  i,
			node:    "ok",
			gids:    usualTable(iface, mac, ip),
		})
		m.netdev(netdev{
			name:      iface,
			index:     10 + i,
			address:   f.address,
			mtu:       9000,
			mac:       mac,
			addresses: []string{ip + "/24"},
		})
	}
	m.library("2.27.3")
}
