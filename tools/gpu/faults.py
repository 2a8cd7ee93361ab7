#!/usr/bin/env python3
"""Make logs of training whose fault is known, because it was made: faults.py FOLDER [NAME...]

Needs root, one NVIDIA GPU, PyTorch, and for some runs JAX, Lightning, Accelerate, Open MPI and railhead-pod in PATH.
Each run has two nodes: namespaces of their own for network, host name and mounts, joined by a veth pair. Both train on
the one GPU, and NCCL connects them over TCP, because it takes two host names for two machines. FOLDER gets a log for
each run, and index.tsv with the labels that tools/score reads.
"""

import concurrent.futures
import dataclasses
import itertools
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
IP = os.environ.get("IP", "ip").split()
ADDRESS = ["10.20.0.1", "10.20.0.2"]
PORT = "29500"
TRAIN = f"{HERE}/train.py"


@dataclasses.dataclass
class Run:
    """One training run. Commands are lines for sh; {rank} is the node's number."""

    name: str
    outcome: str  # accepted answers of explain; "-": not judged
    cause: str = "-"
    network: str = "Socket"
    train: str = ""  # arguments of train.py
    command: str = ""  # of each node, instead of train.py under torchrun
    torchrun: str = ""  # more flags
    env: dict = dataclasses.field(default_factory=dict)
    nodes: int = 2
    ranks: int = 1  # on each node
    hosts: int = 2  # nodes that are started
    shm: str = "1g"
    before: str = ""  # on each node
    when: str = "step 3 "  # a text of the log, after which "during" runs on the first node
    during: str = ""
    limit: int = 120  # seconds


INFO = {"NCCL_DEBUG": "INFO"}
TCP = "fallback,ok,degraded"
GONE = "peer-died"


def runs():
    yield Run("ok", TCP)
    yield Run("ok-all-subsystems", TCP, env={"NCCL_DEBUG_SUBSYS": "ALL"})
    yield Run("ok-silent", "ok,unknown", network="unknown", env={"NCCL_DEBUG": ""})
    yield Run("ok-warn", "ok,unknown", network="unknown", env={"NCCL_DEBUG": "WARN"})
    yield Run("ok-version", "ok,unknown", network="unknown", env={"NCCL_DEBUG": "VERSION"})
    yield Run("ok-one-rank", TCP, network="-", nodes=1, hosts=1)
    yield Run("ok-gloo", "ok,unknown", network="unknown", train="--backend gloo")
    yield Run("ok-not-destroyed", TCP, train="--leave")
    yield Run("ok-exception-survived", TCP, train="--fault exception-survived --steps 30")
    yield Run("ok-no-plugin", TCP, env={"NCCL_NET_PLUGIN": "nosuch"})
    yield Run("ok-ib-disabled", TCP, env={"NCCL_IB_DISABLE": "1"})
    yield Run("ok-hca-filter", TCP, env={"NCCL_IB_HCA": "mlx5_9"})
    yield Run("ok-railhead", TCP, command="railhead-pod run --mode auto -- " + torchrun(TRAIN).removeprefix("exec "))
    yield Run(
        "ok-conf-file",
        TCP,
        before="railhead-pod run --mode tcp --write /mnt",
        env={"NCCL_CONF_FILE": "/mnt/nccl.conf"},
    )
    yield Run("ok-lightning", TCP, command=torchrun(f"{HERE}/train_lightning.py"))
    yield Run("ok-jax", TCP, command=JAX)
    yield Run("ok-loader", TCP, train="--fault loader")

    for fault in "exception", "exit-3", "kill", "segfault", "abort", "nan", "loader-exception":
        yield Run(fault, "fail", GONE, train=f"--fault {fault}")
    # its node starts again before the other one has noticed
    yield Run("restarted", "fail", GONE, train="--fault exception --once", torchrun="--max-restarts 1")
    yield Run("exception-first-rank", "fail", GONE, train="--fault exception --rank 0")
    yield Run("exception-silent", "fail", GONE, network="unknown", train="--fault exception", env={"NCCL_DEBUG": ""})
    yield Run("kill-silent", "fail", GONE, network="unknown", train="--fault kill", env={"NCCL_DEBUG": ""})
    yield Run("kill-first-step", "fail", GONE, train="--fault kill --step 1", network="-")
    yield Run("kill-node", "fail", GONE, train="--fault kill-node")
    yield Run("kill-gloo", "fail", GONE, network="unknown", train="--backend gloo --fault kill")
    yield Run("exit-0", "fail", "peer-died,hang-timeout", train="--fault exit-0 --timeout 15")
    yield Run("terminate", "fail,unknown", train="--fault terminate")
    yield Run("interrupt", "fail,unknown", train="--fault interrupt")
    yield Run("out-of-memory", "fail", "gpu-oom", train="--fault out-of-memory")
    yield Run("device-assert", "fail", "cuda-error", train="--fault device-assert")
    yield Run("disk", "fail", "disk-full", before="mount -t tmpfs -o size=1m none /mnt", train="--fault disk")
    yield Run("loader-shm", "fail", "shm-too-small", train="--fault loader", shm="24m")
    yield Run("shm", "fail", "shm-too-small", shm="64k", network="-")
    for files in 4, 12, 24:
        yield Run(f"files-{files}", "fail", "too-many-files", train=f"--files {files}", network="-")
    for fault in "hang", "freeze":
        yield Run(fault, "fail", "hang-timeout", train=f"--fault {fault} --timeout 12")
    # rank 1 ends one collective before rank 0, without an error
    yield Run("skip", "fail", "hang-timeout,peer-died", train="--fault skip --timeout 12")
    yield Run(
        "hang-silent", "fail", "hang-timeout", network="unknown", train="--fault hang --timeout 12", env={"NCCL_DEBUG": ""}
    )
    for fault in "other-shape", "other-operation":
        yield Run(fault, "fail", "hang-timeout,unknown", train=f"--fault {fault} --timeout 12")
        yield Run(
            fault + "-detail",
            "fail",
            train=f"--fault {fault} --timeout 12",
            env={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"},
        )
    yield Run("no-rdma", "fail", "no-ib-device", network="none,unknown", env={"NCCL_NET": "IB"})
    yield Run("interface", "fail", "bootstrap-ifname", network="-", env={"NCCL_SOCKET_IFNAME": "nosuch0"})
    yield Run(
        "docker0",
        "fail",
        "bootstrap-wrong-address",
        network="-",
        before="$IP link add docker0 type bridge; $IP addr add 172.17.0.1/16 dev docker0; $IP link set docker0 up",
        env={"NCCL_SOCKET_IFNAME": "docker0"},
        train="--timeout 20",
    )
    yield Run(
        "loopback",
        "fail",
        "bootstrap-wrong-address",
        network="-",
        env={"NCCL_SOCKET_IFNAME": "lo"},
        train="--timeout 20",
    )
    # the master's address can be reached, those of NCCL's interface cannot
    second = "$IP link add rail0 type bridge; $IP addr add 10.{third}.0.1/24 dev rail0; $IP link set rail0 up"
    yield Run(
        "no-route",
        "fail",
        "no-route-to-host,peer-unreachable,bootstrap-wrong-address",
        network="-",
        before=second.replace("{third}", "3{rank}"),
        env={"NCCL_SOCKET_IFNAME": "rail0"},
        train="--timeout 20",
    )
    yield Run(
        "link-down",
        "fail",
        "hang-timeout,peer-unreachable,no-route-to-host",
        train="--steps 600 --timeout 12",
        during="$IP link set eth0 down",
    )
    yield Run(
        "unreachable-later",
        "fail",
        "hang-timeout,peer-unreachable,no-route-to-host",
        train="--steps 600 --timeout 12",
        during=f"$IP route add unreachable {ADDRESS[1]}",
    )
    yield Run("same-gpu", "fail", "duplicate-gpu", network="-", nodes=1, hosts=1, ranks=2)
    yield Run("missing-node", "fail,unknown", network="unknown", hosts=1, command=plain("--timeout 15"))
    yield Run("same-rank", "fail,unknown,fallback", network="-", command="export RANK=0; " + plain("--timeout 15"))
    yield Run(
        "port-taken",
        "fail",
        network="unknown",
        before=f"python3 -m http.server {PORT} --bind {ADDRESS[0]} >/dev/null 2>&1 & sleep 1",
        command=plain("--timeout 15"),
    )
    for name, master in ("master-unknown", "nosuch.example"), ("master-unreachable", "10.99.0.1"):
        yield Run(name, "fail", network="unknown", command=f"export MASTER_ADDR={master}; " + plain("--timeout 15"))
    yield Run("no-module", "fail", network="unknown", command=torchrun("-m nosuch.train"))
    yield Run("no-script", "fail", network="unknown", command=torchrun("nosuch.py"))
    yield Run("no-command", "fail,unknown", network="unknown", command="torchrunn train.py")
    yield Run("no-gpu", "fail", "cuda-install,cuda-error,unknown", network="unknown", env={"CUDA_VISIBLE_DEVICES": ""})
    yield Run("algorithm", "fail", network="-", env={"NCCL_ALGO": "Rign"})
    yield Run("lightning-exception", "fail", GONE, command=torchrun(f"{HERE}/train_lightning.py exception"))
    yield Run("lightning-interrupt", "fail,unknown", command=torchrun(f"{HERE}/train_lightning.py interrupt"))
    yield Run("accelerate-exception", "fail", GONE, command=ACCELERATE + " --fault exception")
    for fault in "kill", "exception", "segfault":
        yield Run(f"mpirun-{fault}", "fail", GONE, hosts=1, command=MPIRUN.replace("FAULT", fault))
    yield Run("jax-kill", "fail", GONE, command=JAX + " kill")


def torchrun(script, more="", nodes=2, ranks=1):
    return (
        f"exec python3 -m torch.distributed.run --nnodes {nodes} --nproc-per-node {ranks} --node-rank {{rank}}"
        f" --master-addr {ADDRESS[0]} --master-port {PORT} {more} {script}"
    )


def plain(arguments):
    """A command that is started without a launcher."""
    return (
        f'env RANK="${{RANK:-{{rank}}}}" WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR="${{MASTER_ADDR:-{ADDRESS[0]}}}"'
        f" MASTER_PORT={PORT} python3 {TRAIN} {arguments}"
    )


JAX = f"XLA_PYTHON_CLIENT_MEM_FRACTION=.05 python3 {HERE}/train_jax.py {{rank}} {ADDRESS[0]}:{PORT}"
MPIRUN = (  # two ranks on one node, which NCCL takes for two by NCCL_HOSTID
    "mpirun --allow-run-as-root --oversubscribe -np 2 sh -c 'export RANK=$OMPI_COMM_WORLD_RANK;"
    f" NCCL_HOSTID=host-$RANK WORLD_SIZE=2 MASTER_ADDR={ADDRESS[0]} MASTER_PORT={PORT}"
    f" exec python3 {TRAIN} --fault FAULT'"
)
ACCELERATE = (
    f"accelerate launch --multi_gpu --num_machines 2 --num_processes 2 --machine_rank {{rank}} --mixed_precision no"
    f" --dynamo_backend no --main_process_ip {ADDRESS[0]} --main_process_port {PORT} {TRAIN}"
)


class Node:
    """Namespaces that stand for a machine."""

    def __init__(self, rank, shm):
        self.rank = rank
        self.holder = subprocess.Popen(["unshare", "-n", "-u", "-m", "sleep", "1000"])
        own = os.readlink("/proc/self/ns/mnt")
        while os.readlink(f"/proc/{self.holder.pid}/ns/mnt") == own:
            time.sleep(0.01)
        hosts = "\n".join(["127.0.0.1 localhost"] + [f"{a} node-{i}" for i, a in enumerate(ADDRESS)])
        self.sh(
            f"hostname node-{rank}; mount --make-rprivate /; mount -t tmpfs -o size={shm} none /dev/shm;"
            f"mount -t tmpfs none /mnt; printf '%s\\n' '{hosts}' >/mnt/hosts; mount --bind /mnt/hosts /etc/hosts;"
            f"{' '.join(IP)} link set lo up"
        )

    def enter(self, command):
        return ["nsenter", "-t", str(self.holder.pid), "-n", "-u", "-m", "--", "sh", "-c", command]

    def sh(self, command):
        subprocess.run(self.enter(self.filled(command)), check=True)

    def filled(self, command):
        return command.replace("$IP", " ".join(IP)).replace("{rank}", str(self.rank))

    def start(self, command, env, out):
        return subprocess.Popen(
            self.enter(self.filled(command)), env=env, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end(self):
        """Kill the processes of the node, by its network."""
        own = os.readlink(f"/proc/{self.holder.pid}/ns/net")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/ns/net") == own:
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass  # it has ended
        self.holder.wait()


serial = itertools.count()


def connect(nodes):
    """Join two nodes by a veth pair, named eth0 on both."""
    n = next(serial)
    ends = [f"v{n}a", f"v{n}b"]
    subprocess.run([*IP, "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]], check=True)
    for node, end, address in zip(nodes, ends, ADDRESS):
        subprocess.run([*IP, "link", "set", end, "netns", str(node.holder.pid)], check=True)
        node.sh(f"$IP link set {end} name eth0; $IP addr add {address}/24 dev eth0; $IP link set eth0 up")


def make(run, folder):
    """Make the log of one run, and return what happened."""
    nodes = [Node(rank, run.shm) for rank in range(2)]
    connect(nodes)
    command = run.command or torchrun(f"{TRAIN} {run.train}", run.torchrun, run.nodes, run.ranks)
    env = {**os.environ, **INFO, "PYTHONUNBUFFERED": "1", **run.env}
    begun, ended = time.monotonic(), ""
    with open(f"{folder}/{run.name}.log", "ab") as out:
        if run.before:
            for node in nodes:
                subprocess.run(node.enter(node.filled(run.before)), env=env, stdout=out, stderr=out, check=True)
        processes = [node.start(command, env, out) for node in nodes[: run.hosts]]
        if run.during:
            while run.when not in open(out.name).read() and time.monotonic() - begun < run.limit:
                time.sleep(0.1)
            nodes[0].sh(run.during)
        for p in processes:
            try:
                p.wait(max(run.limit - (time.monotonic() - begun), 1))
            except subprocess.TimeoutExpired:
                ended = "stopped"
        for node in nodes:
            node.end()
        for p in processes:
            p.wait()
    codes = [p.returncode for p in processes]
    return f"{run.name}: exit {codes} {ended} after {time.monotonic() - begun:.0f} s"


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    chosen = [r for r in runs() if not names or r.name in names]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "8"))) as pool:
        made = {pool.submit(make, r, folder): r.name for r in chosen}
        for m in concurrent.futures.as_completed(made):
            print(m.exception() and f"{made[m]}: {m.exception()}" or m.result(), flush=True)
    with open(f"{folder}/index.tsv", "w") as index:
        print("file", "network", "gdr", "outcome", "accept", sep="\t", file=index)
        for r in chosen:
            print(r.name + ".log", r.network, "-", r.outcome, r.cause, sep="\t", file=index)


if __name__ == "__main__":
    main()
