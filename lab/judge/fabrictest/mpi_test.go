//go:build vm

package fabrictest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/lab/machines/image"
)

// ownMPIJob is an MPIJob whose launcher starts a rank in each of two workers.
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
          containers: [{name: launcher, image: %[1]q, imagePullPolicy: IfNotPresent, command: [bash, -c, %[2]q]}]
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        metadata: {labels: {app: own}}
        spec:
          topologySpreadConstraints: %[3]s
          containers: [{name: worker, image: %[1]q, imagePullPolicy: IfNotPresent, command: [bash, -c, %[4]q],
            resources: {limits: {cpu: 600m}}}]
`

// OpenShift gives the pods a user that the image does not know, and SSH needs its name. NetPIPE sends messages of MPI
// through UCX, in one direction. UCX connects its queue pairs over TCP here: its datagrams, by which it does so otherwise,
// time out on emulated Soft-RoCE. By its rendezvous messages are not cut into pieces whose last packets are not full. The
// launcher says last what NetPIPE measured.
const (
	namesUser   = `echo "mpi:x:$(id -u):0::/tmp:/bin/bash" >> /etc/passwd; `
	serves      = namesUser + `exec /usr/sbin/sshd -De`
	startsRanks = namesUser + `set -o pipefail; mpirun --hostfile /etc/mpi/hostfile -n 2 --bind-to none --mca pml ucx ` +
		`-x UCX_TLS=rc,tcp,self -x UCX_RNDV_THRESH=16384 bash -c '. /railhead/conf/env.sh; export UCX_NET_DEVICES=$UCX_NET_DEVICES,eth0; ` +
		`exec NPopenmpi -s -l 262144 -u 262144 -n 240 -p 0 -o /tmp/measured' 2>&1 | tee /dev/termination-log`
)

// runsMPI wants the ranks that mpirun starts by SSH to move bytes by RDMA, on nodes that let every pod lock memory, and
// the kernel to show them at the rate that NetPIPE measures. UCX uses the first rail, which is slow. The ranks poll, and
// the limit of their CPU leaves the pods that read the nodes some.
func (s site) runsMPI(t *testing.T, ns string) {
	t.Helper()
	before := s.sent(t)
	s.runs(t, ns, fmt.Sprintf(ownMPIJob, image.MPIImage, startsRanks, apart, serves),
		"--container=worker", "--memlock=node", "--service-account=railhead-sa")
	workers := []check.Ref{check.PodRef(ns, "own-worker-0"), check.PodRef(ns, "own-worker-1")}
	until(t, "the workers are ready", func() bool { return len(s.pods(t, ns, "")) == 1 }) // the launcher follows them
	for _, m := range s.Machines {
		defer s.slowsFirstRail(t, m.Spec.Config.Name)()
	}
	readWorkers := []string{"wire", "pod/own-worker-0", "pod/own-worker-1", "-n", ns, "--timeout=1m", "-o", "json"}
	for begun := time.Now(); s.readsJob(t, append(readWorkers, "--every=5s")...).Proof != wire.RDMA; {
		if time.Since(begun) > 2*patience {
			t.Fatalf("the ranks move no bytes by RDMA: %+v", s.railhead(t, "logs", "mpijob/own", "-n", ns))
		}
	}
	onNodes := s.readingNodes(t, ns, workers...)
	inPods := map[check.Ref]wire.Motion{}
	for _, m := range s.readsJob(t, append(readWorkers, "--every=12s")...).Members {
		inPods[m.Ref] = m.Motion
	}
	s.endsWell(t, ns, "mpijob/own", 1)
	nodes := onNodes()
	s.counted(t, before)
	measured, err := netPIPERate(s.lastWords(t, ns))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workers {
		agrees(t, "railhead wire pod/"+w.Name, carried(inPods[w]), "NetPIPE", measured)
		agrees(t, "railhead wire node/..., "+w.Name, carried(nodes[w]), "NetPIPE", measured)
	}
}

// carried returns what a rank sent and received: UCX may let the receiver read, whose sequence numbers count then.
func carried(m wire.Motion) wire.Amount { return sent(m).Plus(received(m)) }

var netPIPELine = regexp.MustCompile(`(\d+) bytes +\d+ times --> .* Mbps in +([\d.]+) usec`)

// netPIPERate returns the rate of messages in one direction. NetPIPE's Mbps have 2^20 bits, so its times are taken.
func netPIPERate(output string) (bench.Gbps, error) {
	found := netPIPELine.FindStringSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("no result in %q", output)
	}
	bytes, err := strconv.ParseFloat(found[1], 64)
	micros, err2 := strconv.ParseFloat(found[2], 64)
	return bench.Gbps(bytes * 8 / (micros * 1e3)), errors.Join(err, err2)
}

// lastWords returns what the pods of a manifest that ended well wrote to their termination log.
func (s site) lastWords(t *testing.T, ns string) string {
	t.Helper()
	var words strings.Builder
	for _, p := range s.pods(t, ns, corev1.PodSucceeded) {
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Terminated != nil {
				words.WriteString(c.State.Terminated.Message)
			}
		}
	}
	return words.String()
}
