"""All-reduce over the ranks that torchrun started: ITERATIONS WARMUP BYTES..."""
import os
import sys
import time

import torch
import torch.distributed as dist

iterations, warmup, sizes = int(sys.argv[1]), int(sys.argv[2]), [int(n) for n in sys.argv[3:]]
device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
for size in sizes:
    try:
        data = torch.ones(size // 4, dtype=torch.float32, device="cuda")
    except torch.cuda.OutOfMemoryError:
        if rank == 0:
            print("[bench] no memory on the GPU for bytes=%d" % size, flush=True)
        break
    for _ in range(warmup):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    dist.barrier(device_ids=[device])
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(iterations):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    slowest = torch.tensor([(time.perf_counter() - begun) / iterations], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    seconds = slowest.item()
    if rank == 0:
        print("[bench] op=all_reduce world=%d bytes=%d iters=%d avg_sec=%.6f approx_alg_BW=%.2f GiB/s"
              % (world, size, iterations, seconds, size / seconds / 2**30), flush=True)
    del data
dist.destroy_process_group()
