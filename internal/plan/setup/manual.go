package setup

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// noMachineConfigs lists the settings that a site must make on its nodes itself.
func noMachineConfigs(s cluster.State, o Options) check.Finding {
	f := check.Finding{
		Check: NodeSettings, Status: check.Unknown, Subject: check.Ref{Kind: check.Nodes},
		Summary: "this cluster has no MachineConfigs, " +
			"so it is unknown whether its nodes boot with IOMMU passthrough and let containers lock memory",
		Evidence: check.Observed("API groups", "no "+cluster.MachineConfigGroup, cluster.MachineConfigGroup),
		Fix: check.ByAdmin("Make the settings below on each node, in the way in which you install nodes: " +
			"node image, cloud-init or Ansible. Then examine a node."),
	}
	if s.Server.OpenShift() {
		f.Fix.Text += " OpenShift with a hosted control plane (HyperShift) takes them as MachineConfigs in a " +
			"ConfigMap that spec.config of the NodePool names, in the management cluster."
	}
	if !o.NoIOMMU {
		arguments, _ := passthrough(s.Nodes)
		text := strings.Join(arguments, " ")
		f.Fix.Commands = append(f.Fix.Commands, "# kernel arguments, then reboot; RHEL and its relatives:\n"+
			"grubby --update-kernel=ALL --args=\""+text+"\"\n"+
			"# Debian, Ubuntu: in GRUB_CMDLINE_LINUX of /etc/default/grub, then: update-grub\n"+text)
	}
	if !o.NoMemlock {
		f.Fix.Commands = append(f.Fix.Commands, runtimeMemlock(s.Nodes)...)
	}
	if len(s.Nodes) > 0 {
		n := s.Nodes[max(0, slices.IndexFunc(s.Nodes, hasGPUs))]
		f.Fix.Commands = append(f.Fix.Commands, "railhead doctor node/"+n.Name)
	}
	return f
}

func hasGPUs(n cluster.Node) bool {
	_, count := n.GPUs()
	return count > 0
}

// runtimeMemlock returns the settings that lift the limit in the container runtimes of these nodes. containerd's
// containers inherit its own limits; CRI-O's need default_ulimits (containerd internal/cri, cri-o
// docs/crio.conf.5.md).
func runtimeMemlock(nodes []cluster.Node) []string {
	uses := func(runtime string) bool {
		return slices.ContainsFunc(nodes, func(n cluster.Node) bool {
			return strings.HasPrefix(n.Runtime, runtime+"://")
		})
	}
	var texts []string
	if uses("containerd") || !uses("cri-o") {
		texts = append(texts, "# /etc/systemd/system/containerd.service.d/99-rdma-memlock.conf, "+
			"then: systemctl daemon-reload && systemctl restart containerd\n[Service]\nLimitMEMLOCK=infinity")
	}
	if uses("cri-o") {
		f := memlockFile(nil, "")
		texts = append(texts, "# "+f.Path+", then: systemctl restart crio\n"+strings.TrimSuffix(f.Content, "\n"))
	}
	return texts
}
