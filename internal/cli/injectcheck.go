package cli

import (
	"context"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/report"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
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
				manifest.Kind, manifest.Namespace = workload.KindName(m.GetAPIVersion(), m.GetKind()), ns
				findings = append(findings, clusterrules.ErasedFrom(manifest, s)...)
			}
		}
	}
	report.Findings(a.Out, findings, report.Full)
	return verdict(findings)
}
