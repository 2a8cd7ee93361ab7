//go:build vm

package fabrictest

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/lab/machines/image"
)

// ownMPIJob is an MPIJob whose launcher starts a rank in each of two workers, when its scheduling gate is removed.
const ownMPIJob = `apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: own}
spec:
  sshAuthMountPath: /tmp/.ssh
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy: {cleanPodPolicy: None}
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: Never
      template:
        metadata: {labels: {app: own}}
        spec:
          schedulingGates: [{name: lab.local/rails-are-slow}]
          containers: [{name: launcher, image: %[1]q, imagePullPolicy: IfNotPresent, command: [bash, -c, %[2]q]}]
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        metadata: {labels: {app: own}}
        spec:
          topologySpreadConstraints: %[3]s
          containers: [{name: worker, image: %[1]q, imagePullPolicy: IfNotPresent, command: [bash, -c, %[4]q]}]
`

// OpenShift gives the pods a user that the image does not know, and SSH needs its name. NetPIPE sends a stream of
// messages of MPI through UCX, each in one piece, so that its packets are full. UCX connects its queue pairs over TCP
// here: its datagrams, by which it does so otherwise, time out on emulated Soft-RoCE.
const (
	namesUser   = `echo "mpi:x:$(id -u):0::/tmp:/bin/bash" >> /etc/passwd; exec `
	serves      = namesUser + `/usr/sbin/sshd -De`
	startsRanks = namesUser + `mpirun --hostfile /etc/mpi/hostfile -n 2 --bind-to none --mca pml ucx ` +
		`-x UCX_TLS=rc,tcp,self -x UCX_RNDV_THRESH=inf -x UCX_RC_VERBS_SEG_SIZE=65792 -x UCX_RC_VERBS_RX_QUEUE_LEN=128 ` +
		`-x UCX_RC_VERBS_TX_QUEUE_LEN=16 -x UCX_RC_VERBS_TIMEOUT=10s ` +
		`bash -c '. /railhead/conf/env.sh; export UCX_NET_DEVICES=$UCX_NET_DEVICES,eth0; ` +
		`exec NPopenmpi -s -l 65536 -u 65536 -n 1000 -p 0 -o /tmp/measured'`
)

// runsMPI wants the ranks that mpirun starts by SSH to move bytes by RDMA, on nodes that let every pod lock memory, and
// the pods and the nodes to prove it, at the rate that NetPIPE measures.
func (s site) runsMPI(t *testing.T, ns string) {
	t.Helper()
	before := s.sent(t)
	s.runs(t, ns, fmt.Sprintf(ownMPIJob, image.MPIImage, startsRanks, apart, serves),
		"--container=worker", "--memlock=node", "--service-account=railhead-sa")
	until(t, "the workers run", func() bool { return len(s.pods(t, ns, corev1.PodRunning)) == 2 })
	for _, m := range s.Machines { // rank 0, which sends, may be on either
		defer s.slowsFirstRail(t, m.Spec.Config.Name)()
	}
	s.startsLauncher(t, ns)

	seen := map[string]bench.Gbps{
		"the pods":  s.rateOfWire(t, ns, "mpijob/own"),
		"the nodes": s.rateOfWire(t, ns, s.ofNodes()...),
	}
	s.endsWell(t, ns, "mpijob/own", 1)
	s.counted(t, before)
	log := s.does(t, "logs", "mpijob/own", "-n", ns).out
	result := regexp.MustCompile(`--> +([0-9.]+) Mbps`).FindStringSubmatch(log)
	if result == nil {
		t.Fatalf("NetPIPE prints %s", log)
	}
	mebibits, err := strconv.ParseFloat(result[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	measured := bench.Gbps(mebibits * (1 << 20) / 1e9)
	for from, rate := range seen {
		t.Logf("railhead wire of %s %.6f Gb/s, NetPIPE %.6f Gb/s", from, float64(rate), float64(measured))
		if !agree(rate, measured) {
			t.Errorf("%s say %.3f of what NetPIPE does", from, float64(rate/measured))
		}
	}
}

// startsLauncher removes the scheduling gate of the launcher.
func (s site) startsLauncher(t *testing.T, ns string) {
	t.Helper()
	var pending []corev1.Pod
	until(t, "the launcher is made", func() bool {
		pending = s.pods(t, ns, corev1.PodPending)
		return len(pending) == 1
	})
	if t.Failed() {
		t.FailNow()
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"schedulingGates": null}}`))
	if err := s.ControlPlane.Client().Patch(t.Context(), &pending[0], patch); err != nil {
		t.Fatal(err)
	}
}

// wireRate is the rate of the slow rail, 8 Mbit/s, without the headers of full packets.
const wireRate bench.Gbps = 0.00755

// rateOfWire returns the rate at which some machines send over RDMA. It reads until that is the rate of the wire: when
// the program begins, its messages are short.
func (s site) rateOfWire(t *testing.T, ns string, names ...string) (rate bench.Gbps) {
	t.Helper()
	s.reads(t, ns, func(job wire.Job) bool {
		if job.Proof == wire.RDMA {
			rate = bench.Gbps(job.Sent.Rate * 8 / 1e9)
		}
		return job.Proof == wire.RDMA && agree(rate, wireRate)
	}, names...)
	return rate
}
