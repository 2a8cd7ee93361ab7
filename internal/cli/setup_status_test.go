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
	tests := map[string]struct {
		state  cluster.State
		status setup.ClusterStatus
		says   string
		code   exit.Code
	}{
		"set up": {
			cluster.State{Server: openshift}, setup.ClusterStatus{Pools: []setup.PoolStatus{{}}}, "", exit.OK,
		},
		"not set up": {
			cluster.State{Server: openshift}, without, "create them with 'railhead setup cluster'", exit.OK,
		},
		"no machine config pools": {cluster.State{}, without, "'railhead explain-check node-settings'", exit.OK},
		"pools that are not read": {unread, without, "", exit.Unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			err := Streams{Err: &said}.noPools(test.state, test.status)
			var coded exit.Error
			errors.As(err, &coded)
			quiet := said.Len() == 0
			if coded.Code != test.code || !strings.Contains(said.String(), test.says) || quiet != (test.says == "") {
				t.Errorf("%q, %v", said.String(), err)
			}
		})
	}
}
