package clusterrules

import (
	"cmp"
	"slices"

	"github.com/railhead/railhead/internal/check"
)

// fold moves findings under the finding that explains them, which is as severe as they are, and puts those about single
// pods last.
func fold(r check.Report) check.Report {
	left := []check.Finding{}
	causes, severity := make([]int, len(r.Findings)), make([]check.Status, len(r.Findings))
	for i, f := range r.Findings {
		if causes[i] = causeOf(r.Findings, i); causes[i] >= 0 {
			severity[causes[i]] = max(severity[causes[i]], f.Status)
		}
	}
	for i, f := range r.Findings {
		cause := causes[i]
		if cause < 0 {
			f.Status = max(f.Status, severity[i])
			left = append(left, f)
			continue
		}
		r.Skipped = append(r.Skipped, check.Skip{
			Check: f.Check,
			Needs: r.Findings[cause].Check,
			Why:   f.Subject.String() + ": " + f.Summary,
		})
	}
	slices.SortStableFunc(left, func(a, b check.Finding) int {
		return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(scope(a), scope(b)))
	})
	r.Findings = left
	return r
}

// causeOf returns the place of the finding that explains another one, following causes of causes; -1 if none does.
func causeOf(findings []check.Finding, effect int) int {
	root := -1
	for range findings { // causes are no longer than the list, even if rows explain each other
		by := explainedBy(findings[effect].Check)
		i := slices.IndexFunc(findings, func(f check.Finding) bool {
			return slices.Contains(by, f.Check) && check.Explains(f, findings[effect])
		})
		if i < 0 {
			break
		}
		root, effect = i, i
	}
	return root
}

func explainedBy(id check.ID) []check.ID {
	for _, row := range slices.Concat(rows(), podRows()) {
		if row.ID == id {
			return row.ExplainedBy
		}
	}
	return nil
}

// scope orders findings of one severity: findings about the cluster precede findings about jobs and pods.
func scope(f check.Finding) int {
	if f.Subject.Kind == check.Pod || f.Subject.Kind == check.Job {
		return 1
	}
	return 0
}
