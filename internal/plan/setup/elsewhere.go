package setup

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// elsewhere lists the settings that a site must make on its nodes itself, because the cluster has no MachineConfigs.
func elsewhere(s cluster.State, o Options) check.Finding {
	f := check.Finding{
		Check: NodeSettings, Status: check.Unknown, Subject: check.Ref{Kind: check.Nodes},
		Summary: "this cluster has no MachineConfigs: whether its nodes boot with IOMMU passthrough and let containers lock memory is not known here",
		Evidence: []check.Evidence{
			{Source: "API groups", Got: "no " + cluster.MachineConfigGroup, Want: cluster.MachineConfigGroup},
		},
		Fix: &check.Fix{
			Text: "Set up the nodes by the means of this site, then see with `railhead-pod detect --topology` in a pod whether it took.",
			Who:  check.Admin,
		},
	}
	if s.Server.OpenShift() {
		f.Fix.Text = "On a hosted control plane nodes are set up by the MachineConfigs in a ConfigMap that NodePool spec.config of the management cluster names."
	}
	if !o.NoIOMMU {
		arguments, _ := passthrough(s.Nodes)
		f.Fix.Commands = append(
			f.Fix.Commands,
			"# kernel arguments, then reboot\ngrubby --update-kernel=ALL --args=\""+strings.Join(arguments, " ")+"\"",
		)
	}
	if !o.NoMemlock {
		f.Fix.Commands = append(f.Fix.Commands, memlockByRuntime(s.Nodes)...)
	}
	return f
}

// memlockByRuntime returns the settings that lift the limit in the container runtimes of these nodes. containerd's
// containers inherit its own limits; CRI-O's need default_ulimits (containerd internal/cri, cri-o
// docs/crio.conf.5.md).
func memlockByRuntime(nodes []cluster.Node) []string {
	has := func(runtime string) bool {
		return slices.ContainsFunc(
			nodes, func(n cluster.Node) bool { return strings.HasPrefix(n.Runtime, runtime+"://") },
		)
	}
	var texts []string
	if has("containerd") || !has("cri-o") {
		texts = append(
			texts,
			`# /etc/systemd/system/containerd.service.d/99-rdma-memlock.conf, then: systemctl daemon-reload && systemctl restart containerd
[Service]
LimitMEMLOCK=infinity`,
		)
	}
	if has("cri-o") {
		f := memlockFile(nil, "")
		texts = append(texts, "# "+f.Path+", then: systemctl restart crio\n"+strings.TrimSuffix(f.Content, "\n"))
	}
	return texts
}
