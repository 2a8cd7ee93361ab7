"""A training loop that breaks on demand; faults.py starts it under torchrun.

Rank --rank does what --fault names before it reduces step --step.
"""

import argparse
import ctypes
import datetime
import os
import resource
import signal
import sys
import time

import torch
import torch.distributed as dist


class Samples(torch.utils.data.Dataset):
    """Sixteen samples of 8 MiB, or one that cannot be read."""

    def __init__(self, broken):
        self.broken = broken

    def __len__(self):
        return 16

    def __getitem__(self, i):
        if self.broken and i == 9:
            raise ValueError("sample 9: expected 4 channels, got 3")
        return torch.zeros(2 << 20)


def load(broken):
    for _ in torch.utils.data.DataLoader(Samples(broken), batch_size=4, num_workers=2):
        pass


def exception():
    raise ValueError("expected 4 channels, got 3")


def out_of_memory():
    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")


def device_assert():
    torch.zeros(4, device="cuda")[torch.tensor([1 << 20], device="cuda")] += 1
    torch.cuda.synchronize()


def other_shape():
    dist.all_reduce(torch.ones(3, device="cuda"))
    torch.cuda.synchronize()


def other_operation():
    dist.broadcast(torch.ones(1 << 20, device="cuda"), 0)


def full_disk():
    torch.save(torch.zeros(4 << 20), "/mnt/checkpoint.pt")


def exception_survived():
    try:
        exception()
    except ValueError:
        import traceback

        traceback.print_exc()


FAULTS = {
    "abort": os.abort,
    "device-assert": device_assert,
    "disk": full_disk,
    "exception": exception,
    "exception-survived": exception_survived,
    "exit-0": lambda: os._exit(0),
    "exit-3": lambda: sys.exit(3),
    "freeze": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "hang": lambda: time.sleep(300),
    "interrupt": lambda: os.kill(os.getppid(), signal.SIGINT),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "kill-node": lambda: (os.kill(os.getppid(), signal.SIGKILL), os.kill(os.getpid(), signal.SIGKILL)),
    "loader": lambda: load(broken=False),
    "loader-exception": lambda: load(broken=True),
    "nan": lambda: (_ for _ in ()).throw(FloatingPointError("loss is nan at step 5, stopping training")),
    "other-operation": other_operation,
    "other-shape": other_shape,
    "out-of-memory": out_of_memory,
    "segfault": lambda: ctypes.string_at(0),
    "skip": lambda: None,
    "terminate": lambda: os.kill(os.getppid(), signal.SIGTERM),
}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--backend", default="nccl")
    p.add_argument("--fault", default="")
    p.add_argument("--rank", type=int, default=1)
    p.add_argument("--step", type=int, default=5)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--pause", type=float, default=0.05, help="seconds between two steps")
    p.add_argument("--timeout", type=float, default=120, help="seconds")
    p.add_argument("--files", type=int, default=0, help="open no more than this many files beyond those that are open")
    p.add_argument("--once", action="store_true", help="break the first attempt only")
    p.add_argument("--leave", action="store_true", help="end without destroying the process group")
    a = p.parse_args()
    rank = int(os.environ["RANK"])
    device = torch.device("cuda:0" if a.backend == "nccl" else "cpu")
    if a.backend == "nccl":
        torch.cuda.set_device(device)
    if a.files:
        limit = len(os.listdir("/proc/self/fd")) + a.files
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    fault = a.fault
    if a.once and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0":
        fault = ""
    dist.init_process_group(a.backend, timeout=datetime.timedelta(seconds=a.timeout))
    for step in range(1, a.steps + 1):
        if fault and step == a.step and rank == a.rank:
            FAULTS[fault]()
        if not (fault == "skip" and step == a.step and rank == a.rank):
            gradient = torch.ones(1 << 20, device=device)
            dist.all_reduce(gradient)
            if gradient[0].item() != dist.get_world_size():
                raise RuntimeError("the all-reduce is wrong")
        if rank == 0:
            print(f"step {step} | loss {4 / step:.4f} | lr 3e-4", flush=True)
        time.sleep(a.pause)
    if not a.leave:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
