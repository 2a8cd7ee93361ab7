package main

import (
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
)

// place is a PCI Express switch of an H100 or H200 node: a GPU and a NIC below it.
type place struct {
	root, upstream string // host bridge bus and bus of the switch
	gpu, nic       string // PCI addresses
	numa           int
}

// The eight switches of a two-socket node; those of a socket hang off one host bridge each.
var places = []place{
	{"15", "16", "0000:18:00.0", "0000:1a:00.0", 0}, {"2a", "2b", "0000:2d:00.0", "0000:2f:00.0", 0},
	{"3f", "40", "0000:42:00.0", "0000:44:00.0", 0}, {"54", "55", "0000:57:00.0", "0000:59:00.0", 0},
	{"95", "96", "0000:98:00.0", "0000:9a:00.0", 1}, {"aa", "ab", "0000:ad:00.0", "0000:af:00.0", 1},
	{"bf", "c0", "0000:c2:00.0", "0000:c4:00.0", 1}, {"d4", "d5", "0000:d7:00.0", "0000:d9:00.0", 1},
}

// port is the folder of the downstream port n of the place's switch.
func (p place) port(n int) string {
	return fmt.Sprintf("pci0000:%s/0000:%s:01.0/0000:%s:00.0/0000:%s:%02x.0", p.root, p.root, p.upstream,
		nextBus(p.upstream), n)
}

func nextBus(bus string) string {
	n, err := strconv.ParseUint(bus, 16, 8)
	if err != nil {
		panic(err) // literals of the catalogue
	}
	return fmt.Sprintf("%02x", n+1)
}

// gpus puts an H200 at each place; those whose number is in given have their node in the container.
func (m *machine) gpus(at []place, given ...int) {
	for i, p := range at {
		m.pci(function{
			address:   p.gpu,
			below:     p.port(0),
			class:     "0x030200",
			vendor:    "0x10de",
			device:    "0x2335",
			driver:    "nvidia",
			numa:      p.numa,
			group:     100 + i,
			groupType: "identity",
			speed:     "32.0 GT/s PCIe",
		})
		m.file("proc/driver/nvidia/gpus/"+p.gpu+"/information", fmt.Sprintf(
			"Model: \t\t NVIDIA H200\nIRQ:   \t\t %d\nGPU UUID: \t GPU-5e7d0c1a-0000-4000-8000-00000000000%d\n"+
				"Bus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d",
			200+i, i, p.gpu, i))
	}
	for _, minor := range given {
		m.file(fmt.Sprintf("dev/nvidia%d", minor), "")
	}
	m.file("proc/driver/nvidia/version",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (dvs-builder)\n"+
			"GCC version:  gcc version 11.4.1")
	m.file("sys/module/nvidia_peermem/version", "570.124.06")
}

// cards puts a ConnectX-7 physical function at each place.
func (m *machine) cards(at []place, groupType string) {
	for i, p := range at {
		m.pci(function{
			address:   p.nic,
			below:     p.port(1),
			class:     "0x020000",
			vendor:    "0x15b3",
			device:    "0x1021",
			driver:    "mlx5_core",
			numa:      p.numa,
			group:     60 + i,
			groupType: groupType,
			speed:     "32.0 GT/s PCIe",
		})
	}
}

// vf adds virtual function n (from 1) of the place's card.
func (m *machine) vf(p place, n, group int, groupType string) string {
	address := strings.TrimSuffix(p.nic, ".0") + fmt.Sprintf(".%d", n)
	m.pci(function{
		address:   address,
		below:     p.port(1),
		class:     "0x020000",
		vendor:    "0x15b3",
		device:    "0x101e",
		driver:    "mlx5_core",
		numa:      p.numa,
		group:     group,
		groupType: groupType,
		physfn:    p.nic,
	})
	return address
}

func cardGUID(p place) string { return guid("card" + p.nic) }

// system adds the files of every machine: limits, identity, NUMA nodes.
func (m *machine) system(hostname string) {
	m.file("proc/sys/kernel/osrelease", "5.14.0-570.22.1.el9_6.x86_64")
	m.file("proc/sys/kernel/hostname", hostname)
	m.file("proc/cmdline",
		"BOOT_IMAGE=(hd0,gpt3)/ostree/rhcos/vmlinuz ostree=/ostree/boot.1/rhcos/0 intel_iommu=on iommu=pt")
	m.file("proc/meminfo", "MemTotal:       2113437368 kB\nMemFree:        1998437368 kB")
	m.file("sys/devices/system/node/node0/cpulist", "0-55,112-167")
	m.file("sys/devices/system/node/node1/cpulist", "56-111,168-223")
	m.file("sys/class/iommu/dmar0/intel-iommu/version", "6:0")
	m.file("sys/module/ib_core/parameters/netns_mode", "Y")
	m.netdev(netdev{name: "lo", index: 1, mtu: 65536, addresses: []string{"127.0.0.1/8", "::1/128"}})
	m.probes.Environ["HOSTNAME"] = hostname
}

// The capability sets of a container: CRI-O's defaults, without and with IPC_LOCK.
const (
	defaultCaps = "00000000000005fb"
	ipcLockCaps = "00000000000045fb"
)

// container is an unprivileged one with the runtime's memlock limit for soft and hard alike.
func (m *machine) container(uid int, memlock, effective, bounding string) {
	m.file("proc/self/limits", fmt.Sprintf("Limit                     Soft Limit           Hard Limit           "+
		"Units     \n"+
		"Max processes             unlimited            unlimited            processes \n"+
		"Max locked memory         %-20s %-20s bytes     ", memlock, memlock))
	m.file("proc/self/status", fmt.Sprintf("Name:\trailhead-pod\nUid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\n"+
		"CapInh:\t0000000000000000\nCapPrm:\t%[2]s\nCapEff:\t%[2]s\nCapBnd:\t%[3]s\nCapAmb:\t0000000000000000\n"+
		"NoNewPrivs:\t0",
		uid, effective, bounding))
	m.file("proc/self/uid_map", "         0          0 4294967295")
	m.file("var/run/secrets/kubernetes.io/serviceaccount/namespace", "training")
}

// podNetwork is the cluster's own interface.
func (m *machine) podNetwork() {
	m.netdev(netdev{
		name:      "eth0",
		index:     2,
		lower:     33,
		mtu:       1400,
		mac:       "0a:58:0a:80:02:0f",
		addresses: []string{"10.128.2.15/23"},
		gateway:   true,
	})
}

// library puts a libnccl and rdma-core of Debian's layout into the image.
func (m *machine) library(version string) {
	dir := "usr/lib/x86_64-linux-gnu"
	m.link(dir+"/libibverbs.so.1", dir+"/libibverbs.so.1.14.50.0")
	m.file(dir+"/libibverbs.so.1.14.50.0", "")
	m.file(dir+"/libibverbs/libmlx5-rdmav34.so", "")
	m.file("etc/libibverbs.d/mlx5.driver", "driver mlx5")
	m.link(dir+"/libnccl.so.2", path.Join(dir, "libnccl.so."+version))
	m.file(dir+"/libnccl.so."+version, "")
}

// plugin is the environment of the SR-IOV network device plugin v3.11.0 for one resource with one device.
func (m *machine) plugin(resource, address, device string, uverbs int) {
	name := "PCIDEVICE_OPENSHIFT_IO_" + strings.ToUpper(resource)
	info := fmt.Sprintf(`{"%s":{"generic":{"deviceID":"%[1]s"},"rdma":{"issm":"/dev/infiniband/issm%[3]d",`+
		`"rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"%[2]s","umad":"/dev/infiniband/umad%[3]d",`+
		`"uverbs":"/dev/infiniband/uverbs%[3]d"}}}`,
		address, device, uverbs)
	maps.Copy(m.probes.Environ, map[string]string{name: address, name + "_INFO": info})
}

// attachment is one interface of the network-status annotation.
type attachment struct{ network, iface, ip, address, device string }

// addAnnotations mounts the pod's network status as network-resources-injector does.
func addAnnotations(m *machine, clusterIP string, all ...attachment) {
	items := []string{fmt.Sprintf(`{"name":"ovn-kubernetes","interface":"eth0","ips":["%s"],`+
		`"mac":"0a:58:0a:80:02:0f","default":true,"dns":{}}`, clusterIP)}
	for _, a := range all {
		items = append(items, fmt.Sprintf(`{"name":"%s","interface":"%s","ips":["%s"],"dns":{},`+
			`"device-info":{"type":"pci","version":"1.1.0","pci":{"pci-address":"%s","rdma-device":"%s"}}}`,
			a.network, a.iface, a.ip, a.address, a.device))
	}
	m.file("etc/podnetinfo/annotations",
		fmt.Sprintf("k8s.v1.cni.cncf.io/network-status=%q\nopenshift.io/scc=\"railhead-rdma\"",
			"["+strings.Join(items, ",")+"]"))
}
