package access

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// Account chooses the account of a job's pods, unless the user chose one.
func Account(s cluster.State, job plan.Target, chosen string) (account string, d plan.Draft) {
	var existing []string
	for _, a := range s.ServiceAccounts {
		if a.Namespace == job.Namespace {
			existing = append(existing, a.Name)
		}
	}
	slices.Sort(existing)
	known, own := s.Knows(cluster.ServiceAccounts), job.Name+"-sa"
	switch {
	case chosen != "":
		account = chosen
		if known && !slices.Contains(existing, account) {
			d.Fail(ServiceAccount, accountRef(job, account),
				fmt.Sprintf("namespace %s has no service account %s", job.Namespace, account),
				check.Observed("serviceaccounts of "+job.Namespace, plan.OrNone(existing), account),
				check.ByAdmin("Set up the namespace; this creates the account.", job.SetUpCommand()))
		}
	case slices.Contains(existing, own):
		account = own
	case slices.Contains(existing, plan.DefaultJob+"-sa"):
		account = plan.DefaultJob + "-sa"
	case !known && s.Server.OpenShift():
		account = own
		d.Unknown(s, ServiceAccount, cluster.ServiceAccounts,
			fmt.Sprintf("whether namespace %s has service account %s is unknown", job.Namespace, own))
	}
	return account, d
}

func (a *admission) accountName() string { return cmp.Or(a.Account, "default") }

func (a *admission) accountRef() check.Ref { return accountRef(a.Job, a.accountName()) }

func accountRef(job plan.Target, account string) check.Ref {
	return check.Ref{Kind: check.ServiceAccount, Namespace: job.Namespace, Name: account}
}
