//go:build vm

package fabrictest

import (
	"fmt"
	"testing"

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
          containers: [{name: worker, image: %[1]q, imagePullPolicy: IfNotPresent, command: [bash, -c, %[4]q]}]
`

// OpenShift gives the pods a user that the image does not know, and SSH needs its name. NetPIPE sends messages of MPI
// through UCX. UCX connects its queue pairs over TCP here: its datagrams, by which it does so otherwise, time out on
// emulated Soft-RoCE.
const (
	namesUser   = `echo "mpi:x:$(id -u):0::/tmp:/bin/bash" >> /etc/passwd; exec `
	serves      = namesUser + `/usr/sbin/sshd -De`
	startsRanks = namesUser + `mpirun --hostfile /etc/mpi/hostfile -n 2 --bind-to none --mca pml ucx ` +
		`-x UCX_TLS=rc,tcp,self bash -c '. /railhead/conf/env.sh; export UCX_NET_DEVICES=$UCX_NET_DEVICES,eth0; ` +
		`exec NPopenmpi -l 65536 -u 65536 -n 20 -p 0 -o /tmp/measured'`
)

// runsMPI wants the ranks that mpirun starts by SSH to move bytes by RDMA, on nodes that let every pod lock memory.
func (s site) runsMPI(t *testing.T, ns string) {
	t.Helper()
	manifest := fmt.Sprintf(ownMPIJob, image.MPIImage, startsRanks, apart, serves)
	s.movesItself(t, ns, "mpijob/own", manifest, 1,
		"--container=worker", "--memlock=node", "--service-account=railhead-sa")
}
