package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"
)

// pod writes the interfaces, the environment and the annotations of the pod.
func (t *tree) pod(m spec) {
	addresses := map[int][]string{1: {"127.0.0.1/8", "::1/128"}, 2: {"10.128.2.15/23", "fe80::858:aff:fe80:20f/64"}}
	t.netdev("sys/devices/virtual/net/lo", "lo", 1, 1, 65536)
	t.netdev("sys/devices/virtual/net/eth0", "eth0", 2, 37, 1400)
	status := []map[string]any{
		{"name": "ovn-kubernetes", "interface": "eth0", "ips": []string{"10.128.2.15"}, "default": true},
	}
	for i, h := range m.ownedHCAs() {
		index := 3 + i
		vf := vfPath(h)
		t.netdev(vf+"/net/"+netdev(h), netdev(h), index, index, 9000)
		t.link(vf+"/net/"+netdev(h)+"/device", vf)
		ip := netip.AddrFrom4(address(h)).String()
		addresses[index] = []string{ip + "/24", netip.MustParseAddr(linkLocal(h)).String() + "/64"}
		status = append(status, map[string]any{
			"name": fmt.Sprintf("training/rail%d", h.card+1), "interface": netdev(h), "ips": []string{ip},
			"device-info": map[string]any{"type": "pci", "version": "1.1.0",
				"pci": map[string]string{"pci-address": path.Base(vf), "rdma-device": h.name()}},
		})
	}
	t.file("etc/podnetinfo/annotations", "k8s.v1.cni.cncf.io/network-status="+strconv.Quote(encode(status)))
	t.file("dev/infiniband/rdma_cm", "")
	t.file("proc/net/route", strings.Join([]string{
		"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT",
		"eth0\t00000000\t0102800A\t0003\t0\t0\t0\t00000000\t0\t0\t0",
	}, "\n"))
	t.file("probes.json", encode(map[string]any{
		"taken":     "2026-01-02T03:04:05Z",
		"environ":   environment(m),
		"addresses": addresses,
		"open":      m.open(),
		"shmBytes":  64 << 30,
	}))
}

// open returns the device files that can be opened: all that exist.
func (m spec) open() map[string]string {
	open := map[string]string{"dev/infiniband/rdma_cm": "ok"}
	for _, h := range m.list() {
		if h.owned || m.privileged {
			open["dev/infiniband/"+h.uverbs()] = "ok"
		}
	}
	return open
}

// netdev writes an interface; a lower link other than itself makes it one end of a veth pair.
func (t *tree) netdev(at, name string, index, lower, mtu int) {
	kind := "1" // ARPHRD_ETHER
	if name == "lo" {
		kind = "772" // ARPHRD_LOOPBACK
	}
	t.link("sys/class/net/"+name, at)
	t.files(at, map[string]string{
		"ifindex": fmt.Sprint(index), "iflink": fmt.Sprint(lower), "mtu": fmt.Sprint(mtu), "type": kind,
		"flags": "0x1003", "carrier": "1", "operstate": "up", "address": fmt.Sprintf("0a:58:0a:80:02:%02x", index),
	})
}

// environment returns the variables that the SR-IOV network device plugin 3.11 sets (pkg/infoprovider,
// pkg/devices/rdma.go): for each resource, here one per rail, the allocated addresses and their description.
func environment(m spec) map[string]string {
	lists := map[string][]string{}
	infos := map[string]map[string]any{}
	for _, h := range m.ownedHCAs() {
		name := fmt.Sprintf("PCIDEVICE_OPENSHIFT_IO_RAIL%d", h.card+1)
		address := path.Base(vfPath(h))
		lists[name] = append(lists[name], address)
		if infos[name] == nil {
			infos[name] = map[string]any{}
		}
		infos[name][address] = map[string]any{
			"generic": map[string]string{"deviceID": address},
			"rdma": map[string]string{
				"issm":     fmt.Sprintf("/dev/infiniband/issm%d", h.index),
				"rdma_cm":  "/dev/infiniband/rdma_cm",
				"rdma_dev": h.name(),
				"umad":     fmt.Sprintf("/dev/infiniband/umad%d", h.index),
				"uverbs":   "/dev/infiniband/" + h.uverbs(),
			},
		}
	}
	env := map[string]string{"HOSTNAME": "train-worker-0", "NVIDIA_VISIBLE_DEVICES": "all"}
	for name := range lists {
		env[name] = strings.Join(lists[name], ",")
		env[name+"_INFO"] = encode(infos[name])
	}
	return env
}

// encode returns the JSON of a value that always has one.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
