package rules

import (
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// Verdict is the diagnosis of what was examined: the output of doctor, in every format.
type Verdict struct {
	Subject workload.Subject `json:"subject"`
	Diagnosis
	Log *story.Story `json:"log,omitempty"` // of the pods' logs
}

// Status returns the worst status of the diagnosis and of the logs.
func (v Verdict) Status() check.Status {
	worst := v.Worst()
	if v.Log == nil {
		return worst
	}
	for _, r := range v.Log.Runs {
		switch r.Outcome {
		case story.OutcomeFail, story.OutcomeFallback:
			return check.Fail
		case story.OutcomeDegraded:
			worst = max(worst, check.Warn)
		case story.OutcomeOK, story.OutcomeUnknown:
		}
	}
	return worst
}

// Title names the subject: "Job h-kim in namespace train".
func (v Verdict) Title() string {
	s := v.Subject
	in := ""
	if s.Namespace != "" {
		in = " in namespace " + s.Namespace
	}
	var parts []string
	if s.Job != "" {
		parts = append(parts, "Job "+s.Ref().String()+in)
	}
	if len(s.Pods) > 0 {
		parts = append(parts, "Pod "+words.Few(s.Pods, 6)+in)
	}
	if len(s.Nodes) > 0 && s.Job == "" {
		parts = append(parts, "Node "+words.Few(s.Nodes, 6))
	}
	switch {
	case s.Cluster:
		return "Cluster"
	case !s.Named() && v.Pods == 0: // a file has no subject
		return words.Count(v.Nodes, "node")
	case !s.Named():
		return words.Count(v.Pods, "pod")
	case len(parts) == 0:
		return "Namespace " + s.Namespace
	}
	return strings.Join(parts, ", ")
}

// Size counts what was examined: "2 pods and 1 node".
func (v Verdict) Size() string {
	text := words.Count(v.Pods, "pod")
	if v.Nodes > 0 {
		text += " and " + words.Count(v.Nodes, "node")
	}
	if v.Subject.Cluster {
		return "its objects"
	}
	return text
}
