package cli

import (
	"context"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/workload"
)

// checkInjected compares what runs of injected manifests with them.
func (a *app) checkInjected(ctx context.Context, i injection) error {
	var findings []check.Finding
	for _, ns := range i.options.Namespaces(i.manifests) {
		s, err := i.client.Read(ctx, kube.Want{
			Kinds:     []cluster.Kind{cluster.Workloads, cluster.Pods, cluster.TrainJobs},
			Namespace: ns,
			Detail:    true,
		})
		if err != nil {
			return unknown(err)
		}
		for _, m := range i.manifests {
			if k, known := i.options.KindOf(m); known && manifests.Namespace(m, i.options.Namespace) == ns {
				manifest := kube.Workload(k, m.Object)
				manifest.Kind = workload.KindName(m.GetAPIVersion(), m.GetKind())
				findings = append(findings, checkManifest(manifest, ns, s)...)
			}
		}
	}
	report.Findings(a.Out, findings, report.Full)
	return verdict(findings)
}

// checkManifest compares what runs of a manifest in a namespace, unless inject left the manifest as it is.
func checkManifest(manifest cluster.Workload, ns string, s cluster.State) []check.Finding {
	injected := func(p cluster.Pod) bool { return p.Annotations[workload.Injected] != "" }
	if !slices.ContainsFunc(manifest.Templates, injected) {
		return nil
	}
	manifest.Namespace = ns
	for i := range manifest.Templates { // the pods of a runtime are in no namespace; their attachments are
		manifest.Templates[i].Namespace = ns
	}
	return clusterrules.ErasedFrom(manifest, s)
}
