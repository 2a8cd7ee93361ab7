//go:build vm

package fabrictest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/vm"
)

// claims wants the pods of a job and of a user's own manifest to get their rails from dranet, the DRA driver of NICs,
// and RDMA to move bytes over them.
func (s site) claims(t *testing.T) {
	const ns = "claimed"
	defer s.startDRADriver(t)()
	until(t, "dranet offers all rails of all nodes", func() bool { return s.offersRails(t) })
	s.does(t, "setup", "namespace", ns, "--yes").says(t, "created DeviceClass dra.net",
		"jobs claim their rails from the DRA driver dra.net (0000:01, 0000:02)")
	s.deploys(t, "job", ns, "--mode=rdma").says(t, "RDMA over 2 rails", "job: 2 of 2 pods ready")
	s.findsClaimed(t, "job", ns)
	s.moves(t, "job", ns)
	t.Run("inject", func(t *testing.T) {
		rank := "set -e\nNODE_RANK=$JOB_COMPLETION_INDEX MASTER_ADDR=own-0.own\n"
		s.movesItself(t, ns, "job/own", fmt.Sprintf(ownJob, rank+byEnvironment+writes), 2,
			"--claims", "--memlock=ipc-lock", "--service-account=railhead-sa")
	})
	until(t, "dranet offers the devices that came back, next to those that pods hold", func() bool { return s.offersRails(t) })
	s.deploys(t, "job", ns, "--mode=rdma").says(t, "Nothing to do")
	s.does(t, "delete", "job", "-n", ns, "--yes")
	until(t, "dranet takes the devices back", func() bool { return len(s.claimsOf(t, ns)) == 0 })
}

// offersRails reports whether dranet offers the virtual functions of all rails of all nodes, held or not.
func (s site) offersRails(t *testing.T) bool {
	t.Helper()
	return strings.Count(s.railhead(t, "inventory").out, "dra.net/ 0000:01:2 0000:02:2") == len(s.Machines)
}

// startDRADriver starts dranet on all nodes. A pod gets an interface with the addresses that it has on the node.
func (s site) startDRADriver(t *testing.T) (stop func()) {
	t.Helper()
	const log = guest.LogFolder + "/dranet.log"
	pids := map[*vm.VM]string{}
	for m, v := range s.Machines {
		var script strings.Builder
		for rail, card := range v.Spec.Config.Cards {
			for vf := range card.VFs {
				at := fabric.Subnet(rail).Addr().As4()
				at[3] = byte(10*(m+1) + vf)
				fmt.Fprintf(&script, "ip addr add %s/24 dev %sv%d\n", netip.AddrFrom4(at), card.Name, vf)
			}
		}
		fmt.Fprintf(&script, "%s/dranet --v=2 --cloud-provider-hint=NONE --kubeconfig=%s/cni.kubeconfig "+
			"--hostname-override=%s < /dev/null > %s 2>&1 & echo -n $!",
			guest.ProgramFolder, guest.OwnFolder, v.Spec.Config.Name, log)
		pids[v] = output(t, fault.In(v), "sh", "-c", script.String())
	}
	return func() {
		for v, pid := range pids {
			if t.Failed() {
				t.Log(output(t, fault.In(v), "cat", log))
			}
			output(t, fault.In(v), "kill", "-KILL", pid)
		}
	}
}

// findsClaimed wants each pod to have exactly the devices that its claim was given, in the order of the rails.
func (s site) findsClaimed(t *testing.T, job, ns string) {
	t.Helper()
	own := s.claimed(t, ns)
	var found []string
	for rank, text := range s.ranks(t, job, ns, "echo $HOSTNAME $NCCL_IB_HCA") {
		pod, hcas, _ := strings.Cut(strings.TrimSpace(text), " ")
		if want := own[pod]; want == "" || hcas != want {
			t.Errorf("rank %s (%s) uses %s, want %q", rank, pod, hcas, want)
		}
		found = append(found, hcas)
	}
	if slices.Sort(found); len(slices.Compact(found)) != len(s.Machines) {
		t.Errorf("devices %q: want other names on each node", found)
	}
}

// claimed returns the value of NCCL_IB_HCA that has the devices of each pod's claim, by pod.
func (s site) claimed(t *testing.T, ns string) map[string]string {
	t.Helper()
	own := map[string]string{}
	for _, c := range s.claimsOf(t, ns) {
		if c.Status.Allocation == nil || len(c.OwnerReferences) == 0 {
			t.Fatalf("claim %s has no devices: %+v", c.Name, c.Status)
		}
		var hcas []string
		for _, r := range c.Status.Allocation.Devices.Results {
			v, err := s.Machine(r.Pool)
			if err != nil {
				t.Fatal(err)
			}
			// pci-0000-01-10-0 is 0000:01:10.0.
			name := strings.Split(r.Device, "-")
			address := strings.Join(name[1:4], ":") + "." + name[4]
			hca := output(t, fault.In(v), "ls", "/sys/bus/pci/devices/"+address+"/infiniband")
			hcas = append(hcas, strings.TrimSpace(hca)+":1")
		}
		own[c.OwnerReferences[0].Name] = "=" + strings.Join(hcas, ",")
	}
	return own
}

func (s site) claimsOf(t *testing.T, ns string) []resourcev1.ResourceClaim {
	t.Helper()
	var claims resourcev1.ResourceClaimList
	if err := s.ControlPlane.Client().List(t.Context(), &claims, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	return claims.Items
}
