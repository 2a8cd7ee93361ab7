package collect

import (
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/logsource"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

// Judge diagnoses a bundle, from a cluster or from an archive.
func Judge(b bundle.Bundle, machines []rules.Judged, autopsy bool) rules.Verdict {
	asked := b.Manifest.Subject
	v := rules.Verdict{Subject: asked, Diagnosis: rules.Diagnose(rules.Case{
		State:    b.State,
		Machines: machines,
		Cluster:  clusterrules.Options{Namespace: asked.Namespace, Job: asked.Ref(), Whole: asked.Cluster},
		Autopsy:  autopsy,
		Bench:    b.Bench,
	})}
	if len(b.Logs) > 0 {
		logs := logsource.Archived(b.Logs, rules.ForLogs(machines))
		v.Log = &logs
	}
	return v
}
