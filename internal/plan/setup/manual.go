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
		Fix: check.ByAdmin("Set up the nodes with the tools of this site, " +
			"then check the result with 'railhead-pod detect --topology' in a pod."),
	}
	if s.Server.OpenShift() {
		f.Fix.Text = "On a hosted control plane, put the MachineConfigs into a ConfigMap " +
			"and list it in spec.config of the NodePool in the management cluster."
	}
	if !o.NoIOMMU {
		arguments, _ := passthrough(s.Nodes)
		f.Fix.Commands = append(f.Fix.Commands, "# kernel arguments, then reboot\n"+
			"grubby --update-kernel=ALL --args=\""+strings.Join(arguments, " ")+"\"")
	}
	if !o.NoMemlock {
		f.Fix.Commands = append(f.Fix.Commands, runtimeMemlock(s.Nodes)...)
	}
	return f
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
