package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/plan/setup"
)

// TestStatusWithoutPools: setup status recommends only what helps on this cluster.
func TestStatusWithoutPools(t *testing.T) {
	openshift := cluster.Server{Groups: []string{cluster.MachineConfigGroup}}
	unread := cluster.State{Server: openshift}
	unread.Problems = []cluster.Problem{{Kind: cluster.Pools, Err: "machineconfigpools is forbidden"}}
	without := setup.ClusterStatus{}
	partly := cluster.State{Server: openshift}
	partly.Problems = []cluster.Problem{{Kind: cluster.SCCGrants, Err: "rolebindings is forbidden"}}
	withPool := setup.ClusterStatus{Pools: []setup.PoolStatus{{}}}
	tests := map[string]struct {
		state  cluster.State
		status setup.ClusterStatus
		says   string
		code   exit.Code
	}{
		"set up":                               {cluster.State{Server: openshift}, withPool, "", exit.OK},
		"set up, and grants that are not read": {partly, withPool, "", exit.Unknown},
		"not set up": {
			cluster.State{Server: openshift}, without, "create them with 'railhead setup cluster'", exit.OK,
		},
		"no machine config pools": {cluster.State{}, without, "'railhead explain-check node-settings'", exit.OK},
		"pools that are not read": {unread, without, "", exit.Unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			test.status.Unread = test.state.Problems
			err := Streams{Err: &said}.incomplete(test.state, test.status)
			var coded exit.Error
			errors.As(err, &coded)
			quiet := said.Len() == 0
			if coded.Code != test.code || !strings.Contains(said.String(), test.says) || quiet != (test.says == "") {
				t.Errorf("%q, %v", said.String(), err)
			}
		})
	}
}

func TestSCCOfStatus(t *testing.T) {
	users := []cluster.SCCGrant{{Subject: "ServiceAccount/train/h-kim-sa"}}
	for want, status := range map[string]setup.ClusterStatus{
		"": {},
		"SCC s exists and is not used yet: grant":                    {SCC: "s"},
		"SCC s exists and is used by ServiceAccount/train/h-kim-sa.": {SCC: "s", Users: users},
		"SCC s exists; who may use it could not be read.": {
			SCC: "s", Unread: []cluster.Problem{{Kind: cluster.SCCGrants, Err: "rolebindings is forbidden"}},
		},
	} {
		var out bytes.Buffer
		if err := (Streams{Out: &out}).setupStatus(status); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%q, want %q: %v", out.String(), want, err)
		}
	}
}
