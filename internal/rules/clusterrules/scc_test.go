package clusterrules

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
)

// TestSCCOfTheSite: where Railhead's SCC does not exist, the fix grants the site's.
func TestSCCOfTheSite(t *testing.T) {
	account := check.Ref{Kind: check.ServiceAccount, Namespace: "train", Name: "h-kim-sa"}
	v := view{
		state: cluster.State{SCCs: []cluster.SCC{{Name: "nccl-scc", AllowedCapabilities: []string{"IPC_LOCK"}}}},
		pods:  []check.Finding{{Check: pods.SCCIPCLock, About: []check.Ref{account}}},
	}
	found := sccGranted(v)
	if len(found) != 1 || found[0].Subject != account {
		t.Fatalf("found %+v", found)
	}
	commands := strings.Join(found[0].Fix.Commands, "\n")
	if !strings.Contains(commands, "--scc nccl-scc") || !strings.Contains(commands, "add-scc-to-user nccl-scc "+
		"-z h-kim-sa") ||
		strings.Contains(commands, "railhead-rdma") {
		t.Errorf("the fix does not name the site's SCC:\n%s", commands)
	}
	v.state.SCCGrants = []cluster.SCCGrant{{SCC: "nccl-scc", Subject: "ServiceAccount/train/h-kim-sa",
		Namespace: "train"}}
	if found := sccGranted(v); len(found) > 0 {
		t.Errorf("it is granted: %+v", found)
	}
}

// TestGrantee has names of service accounts from templates whose values are empty, too: RBAC takes any name of a user.
func TestGrantee(t *testing.T) {
	for subject, want := range map[string]string{
		"ServiceAccount/train/h-kim-sa":            "train",
		"User/system:serviceaccount:train:default": "train",
		"Group/system:serviceaccounts:train":       "train",
		"Group/system:serviceaccounts":             "",
		"User/system:serviceaccount:":              "",
		"User/system:serviceaccount::":             "",
		"User/system:serviceaccount::default":      "",
		"Group/system:serviceaccounts:":            "",
		"User/kim":                                 "",
	} {
		if got := grantee(cluster.SCCGrant{Subject: subject}); got != want {
			t.Errorf("%s: %q, want %q", subject, got, want)
		}
	}
}
