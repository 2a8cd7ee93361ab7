"""JAX on two nodes that breaks on demand: train_jax.py RANK ADDRESS [kill]."""

import os
import signal
import sys

import jax
import jax.numpy as jnp

rank, address = int(sys.argv[1]), sys.argv[2]
jax.distributed.initialize(address, 2, rank, local_device_ids=[0])
mesh = jax.make_mesh((2,), ("data",))
split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
total = jax.jit(lambda x: x.sum(), in_shardings=split, out_shardings=whole)
ones = jax.make_array_from_process_local_data(split, jnp.ones(1024))
for step in range(1, 11):
    if step == 5 and rank == 1 and "kill" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    loss = float(total(ones))
    if rank == 0:
        print(f"step {step} | loss {loss:.4f}", flush=True)
