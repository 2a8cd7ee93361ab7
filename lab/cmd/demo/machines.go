package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const machinesIntro = `
Two Kubernetes nodes, as virtual machines on this machine. Their RDMA is Soft-RoCE in virtual machines, on the SR-IOV
functions of QEMU's igb: its speed says nothing. Linux, kubelet, containerd, Multus, kube-apiserver with OpenShift's SCC
admission and perftest, which sends the data, are the real programs. There are no GPUs.

It takes 5 to 12 minutes. The first time, the lab is downloaded and built before, and each part says how long it takes.
Ctrl-C takes the lab down.
`

// Files that the story leaves in the repository.
const (
	scriptFile = "bin/send.sh"
	wireFile   = "bin/demo-wire.json"
	doctorFile = "bin/demo-doctor.tgz"
	pageFile   = "bin/demo-rdma.html"
)

// lab runs a command of the lab. The name leaves alone what `lab up` without one has started.
const lab = "go -C lab run . --name demo "

// sendScript sends for $1 seconds over the first rail of each pod, to rank 0, and prints the result. `railhead launch`
// sets the variables.
const sendScript = `hca=${NCCL_IB_HCA#=}; hca=${hca%%:*}
run() { out=$(ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s 65536 -q 1 -F -D "$@") && echo "$out" | grep -A1 '#bytes'; }
if [ "$NODE_RANK" = 0 ]; then run $1; else until run $1 "$MASTER_ADDR"; do sleep 1; done; fi
`

// showMachines shows railhead on nodes with RDMA in virtual machines.
func showMachines(ctx context.Context, w io.Writer, keep bool) (err error) {
	fmt.Fprint(w, machinesIntro)
	kubeconfig, err := startLab(ctx, w)
	if err != nil {
		return err
	}
	down := scene{why: "The lab goes down, and nothing of it stays but its cache:", line: lab + "down"}
	defer func() {
		if err == nil && keep {
			fmt.Fprintf(w, "\nThe lab stays up:\n  export KUBECONFIG=%s\nTake it down:\n  %s\n", kubeconfig, down.line)
			return
		}
		err = errors.Join(err, down.play(context.WithoutCancel(ctx), w))
	}()
	if err := os.Setenv("KUBECONFIG", kubeconfig); err != nil {
		return err
	}
	if err := os.WriteFile(scriptFile, []byte(sendScript), 0o600); err != nil {
		return err
	}
	if err := playAll(ctx, w, settingUp()); err != nil {
		return err
	}
	if err := prove(ctx, w); err != nil {
		return err
	}
	if err := playAll(ctx, w, breaking()); err != nil {
		return err
	}
	page, err := filepath.Abs(pageFile)
	fmt.Fprintf(w, "\nThe report of this run: file://%s\n", page)
	return err
}

// startLab returns the lab's kubeconfig.
func startLab(ctx context.Context, w io.Writer) (string, error) {
	const export = "export KUBECONFIG="
	var output bytes.Buffer
	up := scene{why: "The lab boots two nodes, each with two rails:", line: lab + "up", says: []string{export}}
	if err := up.play(ctx, io.MultiWriter(w, &output)); err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(output.String(), export)
	kubeconfig, _, _ := strings.Cut(rest, "\n")
	return kubeconfig, nil
}

func settingUp() []scene {
	return []scene{
		{
			why:  "Once, as an administrator. Pods may lock the memory that RDMA registers:",
			line: "railhead setup cluster --allow-ipc-lock --yes",
			says: []string{"created SecurityContextConstraints railhead-rdma"},
		},
		{
			why:  "A namespace for the training, with network attachments for its rails:",
			line: "railhead setup namespace train --networks-from default --yes",
			says: []string{"Rails of namespace train: eno5np0 (openshift.io/eno5np0rdma, 2 nodes), eno6np0 "},
		},
		{
			why:  "The job: two pods, each with a virtual function of both rails:",
			line: "railhead deploy job -n train --nodes 2 --gpus 0 --image lab.local/perf:1 --yes",
			says: []string{"RDMA over 2 rails", "job: 2 of 2 pods ready"},
		},
	}
}

// send is a launch that sends for some seconds.
func send(why string, seconds int) scene {
	return scene{
		why:  why,
		line: fmt.Sprintf("railhead launch job -n train --copy %s -- sh send.sh %d", scriptFile, seconds),
		says: []string{"BW average"}, // perftest prints it above its result
	}
}

func breaking() []scene {
	const doctor = "railhead doctor job -n train --nodes --probe-image lab.local/perf:1"
	return []scene{
		{
			why:  "Now a fault, made for real: on node-a the card of rail eno5np0 goes down:",
			line: lab + "fault pf-down",
			says: []string{"On node-a: the physical function of a rail is down"},
		},
		{
			why:  "Which rail it is, what follows from it, and the fix:",
			line: doctor,
			code: 1,
			says: []string{"fail: node/node-a: physical function eno5np0 ", "[pf-up]", "ip link set eno5np0 up"},
		},
		{
			why:  "The fault is undone:",
			line: lab + "heal",
			says: []string{"healed pf-down on node-a"},
		},
		{
			why:  "All is well again:",
			line: doctor + " --save " + doctorFile,
			says: []string{"Nothing is wrong"},
		},
		send("The job sends again:", 30),
		{
			why:  "Everything on one page, to read and to send:",
			line: fmt.Sprintf("railhead report %s %s -o %s", doctorFile, wireFile, pageFile),
			says: []string{pageFile + ": "},
		},
	}
}
