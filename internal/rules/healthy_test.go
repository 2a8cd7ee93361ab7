package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/corpustest"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

var pciAddress = regexp.MustCompile(`[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]`)

// A pod with rails may also have accelerators, and functions for DPDK and virtual machines.
func TestOtherDevicesOfAPod(t *testing.T) {
	broken := map[string]string{"05-info-fec-truncated.env": "warn allocation-readable"}
	for _, file := range corpustest.Files(t, "pcidevice") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := rulestest.Recorded(t, "pod-roce-4vf")
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			if !strings.HasPrefix(name, "PCIDEVICE_") {
				continue
			}
			s.Env[name] = value
			for _, address := range pciAddress.FindAllString(value, -1) {
				a, err := host.ParsePCIAddress(address)
				if err != nil {
					t.Fatal(err)
				}
				f := host.Function{Address: a, Present: true, Driver: host.Know("vfio-pci")}
				s.Functions = append(s.Functions, f)
			}
		}
		found := strings.Join(checksOf(Diagnose(single(check.PodRef("train", "h-kim-0"), s))), ", ")
		if want := broken[filepath.Base(file)]; found != want {
			t.Errorf("%s: %q, want %q", filepath.Base(file), found, want)
		}
	}
}

// TestPCIOfARealNode judges a node with 8 H100 and ConnectX-7 behind switches from the output of lspci.
func TestPCIOfARealNode(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(corpustest.Folder(t, "outputs"), "lspci-vvv-h100-cx7.txt"))
	if err != nil {
		t.Fatal(err)
	}
	s := ofLspci(t, string(text))
	if len(s.Devices) < 8 || len(s.GPUs) != 8 || len(s.Bridges) < 16 {
		t.Fatalf("read %d HCAs, %d GPUs, %d bridges", len(s.Devices), len(s.GPUs), len(s.Bridges))
	}
	if found := checksOf(Diagnose(single(check.NodeRef("gpu-0"), s))); found != nil {
		t.Errorf("of a healthy node: %q", found)
	}
	redirects := s.Bridges
	for i := range redirects {
		redirects[i].Config.ACS = host.Know(0x1d)
	}
	found := checksOf(Diagnose(single(check.NodeRef("gpu-0"), s)))
	if !slices.Equal(found, []string{"warn acs-redirect"}) {
		t.Errorf("if all bridges redirect: %q", found)
	}
}

// ofLspci reads the functions of lspci -vvv that matter to RDMA, with the bridges above them.
func ofLspci(t *testing.T, text string) host.Snapshot {
	t.Helper()
	s := host.Snapshot{Env: map[string]string{}, IOMMU: host.IOMMU{Groups: host.Know(100)}}
	above := map[string]host.PCIAddress{} // bus -> the bridge that leads to it
	for block := range strings.SplitSeq(text, "\n\n") {
		first, rest, _ := strings.Cut(strings.TrimSpace(block), "\n")
		address, kind, _ := strings.Cut(first, " ")
		a, err := host.ParsePCIAddress("0000:" + address)
		if err != nil {
			continue
		}
		f := host.Function{Address: a, Present: true, Link: linkOfLspci(rest), IOMMUType: host.Know("identity")}
		f.Config.MaxReadRequest = numberOf(rest, `MaxReadReq (\d+) bytes`)
		f.Config.MaxPayload = numberOf(rest, `MaxPayload (\d+) bytes, MaxReadReq`)
		if acs := regexp.MustCompile(`ACSCtl:.*ReqRedir(.) CmpltRedir(.)`).FindStringSubmatch(rest); acs != nil {
			f.Config.ACS = host.Know(strings.Count(acs[1], "+")*host.ACSRequestRedirect +
				strings.Count(acs[2], "+")*host.ACSCompletionRedirect)
		}
		bus, _, _ := strings.Cut(address, ":")
		path := host.PCIPath{HostBridge: "pci0000:" + bus, Hops: []host.PCIAddress{a}}
		for bridge, there := above[bus]; there; bridge, there = above[fmt.Sprintf("%02x", bridge.Bus)] {
			path.HostBridge = fmt.Sprintf("pci0000:%02x", bridge.Bus)
			path.Hops = append([]host.PCIAddress{bridge}, path.Hops...)
		}
		f.Path = host.Know(path)
		switch {
		case strings.HasPrefix(kind, "PCI bridge"):
			if m := regexp.MustCompile(`secondary=([0-9a-f]{2})`).FindStringSubmatch(rest); m != nil {
				above[m[1]] = a
			}
			s.Bridges = append(s.Bridges, f)
		case strings.HasPrefix(kind, "3D controller: NVIDIA"):
			f.Vendor = host.Know("0x10de")
			s.GPUs = append(s.GPUs, host.GPU{Function: f})
		case strings.Contains(kind, "ConnectX-7"):
			port := host.Port{Number: 1, State: host.Know("ACTIVE"), Rate: host.Know(host.Rate{Gbps: 400})}
			s.Devices = append(s.Devices, host.Device{
				Name: "mlx5_" + address, Function: host.Know(f), Ports: []host.Port{port},
			})
		}
	}
	return s
}

func linkOfLspci(text string) host.Fact[host.PCILink] {
	speeds := regexp.MustCompile(`(?:LnkCap|LnkSta):.*?Speed (\d+)GT/s.*?Width x(\d+)`).FindAllStringSubmatch(text, 2)
	if len(speeds) < 2 {
		return host.Fact[host.PCILink]{}
	}
	var n [4]int
	for i, word := range []string{speeds[0][1], speeds[0][2], speeds[1][1], speeds[1][2]} {
		n[i], _ = strconv.Atoi(word)
	}
	return host.Know(host.PCILink{MaxGTs: float64(n[0]), MaxWidth: n[1], GTs: float64(n[2]), Width: n[3]})
}

func numberOf(text, pattern string) host.Fact[int] {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return host.Fact[int]{}
	}
	n, _ := strconv.Atoi(m[1])
	return host.Know(n)
}

// No problem is found in objects as real control planes have them.
func TestHealthyClusters(t *testing.T) {
	for name, s := range map[string]cluster.State{
		"an OpenShift with the grants of the platform": freshOpenShift(t),
		"a Kubernetes with 100 nodes of eight rails":   plainKubernetes(),
		"a job on an OpenShift":                        rulestest.Training(t),
	} {
		for _, whole := range []bool{false, true} {
			d := Diagnose(Case{State: s, Cluster: clusterrules.Options{Whole: whole}})
			if found := reported(d); found != nil {
				t.Errorf("%s, whole cluster: %t: %q: %+v", name, whole, found, d.Problems)
			}
		}
	}
}

// freshOpenShift is a cluster with the ten SCCs of the platform, a JobSet whose pods may use one for RDMA, and the
// network-resources-injector with the rights of an administrator.
func freshOpenShift(t *testing.T) cluster.State {
	s := rulestest.Training(t)
	s.SCCs = []cluster.SCC{{Name: "rdma", AllowedCapabilities: []string{"IPC_LOCK"}}}
	for name := range strings.FieldsSeq("anyuid hostaccess hostmount-anyuid hostnetwork hostnetwork-v2 nonroot " +
		"nonroot-v2 restricted restricted-v2") {
		s.SCCs = append(s.SCCs, cluster.SCC{
			Name: name, AllowedCapabilities: []string{"NET_BIND_SERVICE"},
			HostNetwork: strings.HasPrefix(name, "hostnetwork") || name == "hostaccess",
			HostPath:    name == "hostaccess" || name == "hostmount-anyuid",
		})
	}
	s.SCCs = append(s.SCCs, cluster.SCC{
		Name: "privileged", Privileged: true, AllowedCapabilities: []string{"*"}, HostNetwork: true, HostPath: true,
	})
	s.SCCGrants = []cluster.SCCGrant{
		{
			SCC: "restricted-v2", Subject: "Group/system:authenticated",
			By: "ClusterRoleBinding/system:openshift:scc:restricted-v2",
		},
		{SCC: "*", Subject: "ServiceAccount/kube-system/nri", By: "ClusterRoleBinding/nri"},
		{SCC: "*", Subject: "Group/system:masters", By: "ClusterRoleBinding/cluster-admin"},
		{SCC: "privileged", Subject: "ServiceAccount/openshift-multus/multus", By: "ClusterRoleBinding/multus"},
		{SCC: "hostnetwork-v2", Subject: "ServiceAccount/openshift-ingress/router", By: "ClusterRoleBinding/router"},
		{SCC: "rdma", Subject: "ServiceAccount/train/railhead", Namespace: "train", By: "RoleBinding/scc-rdma"},
	}
	for _, p := range []string{"mofed-rhcos4.18-6f4c8d-ds", "nvidia-driver-daemonset-418.94.202505-0"} {
		d := rulestest.Driver("gpu-1")
		d.Owner, d.Ready = "DaemonSet/"+p, true
		s.Pods = append(s.Pods, d)
	}
	ended := cluster.Pod{Namespace: "train", Name: "prepare-x", Owner: "Job/prepare", Phase: "Succeeded"}
	s.Pods = append(s.Pods, ended)
	return s
}

// plainKubernetes has no OpenShift, no operator and no attachments: pods ask for the plugin's resources.
func plainKubernetes() cluster.State {
	s := cluster.State{
		Server: cluster.Server{Groups: []string{"apps", cluster.NetworkGroup}},
		Read:   []cluster.Kind{cluster.Nodes, cluster.Pods, cluster.Networks, cluster.Events},
	}
	for i := range 100 {
		offers := cluster.Resources{"cpu": 192000, "pods": 250, "nvidia.com/gpu": 8}
		for rail := range 8 {
			offers[fmt.Sprintf("openshift.io/eno%dnp0rdma", 5+rail)] = 1
		}
		node := fmt.Sprintf("gpu-%04d", i)
		s.Nodes = append(s.Nodes, cluster.Node{Name: node, Ready: true, Arch: "amd64", Allocatable: offers})
		s.Pods = append(s.Pods, cluster.Pod{
			Namespace: "train", Name: fmt.Sprintf("w-%d", i), Owner: "StatefulSet/w", Node: node, Phase: "Running",
			Ready:      true,
			Requests:   cluster.Resources{"nvidia.com/gpu": 8, "openshift.io/eno5np0rdma": 1},
			Containers: []cluster.Container{{Name: "c", Ready: true, Running: true}},
		})
	}
	return s
}
