"""Trains on GPUs, several ranks on one if there are fewer GPUs, and fails unless the loss falls as it should; for scripts/gpu-check.

    scripts/nccl-run torchrun --nproc-per-node 2 train.py ddp nccl                          GOSS_NCCL_CODEC=int8 compresses it
    torchrun --nproc-per-node 2 train.py fsdp2 gossamer --codec int8
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

WIDTH, BATCH, STEPS = 1024, 256, 100
FALLS_TO = 0.5  # of the loss of the first step; without compression it falls to less


def sharded(model, codec):
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if codec:
        from gossamer.torch import compress_fsdp  # pylint: disable=import-outside-toplevel
        compress_fsdp(model, codec, codec)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parallel", choices=("ddp", "fsdp2"))
    parser.add_argument("backend", choices=("nccl", "gossamer"))
    parser.add_argument("--codec", help="of fsdp2 over gossamer")
    options = parser.parse_args()

    if options.backend == "gossamer":
        import gossamer.torch  # noqa: F401  # pylint: disable=import-outside-toplevel,unused-import  # registers it
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    dist.init_process_group(options.backend)
    torch.manual_seed(0)
    layers = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()) for _ in range(4)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1)).cuda()
    model = sharded(model, options.codec) if options.parallel == "fsdp2" else DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    random = torch.Generator("cuda").manual_seed(dist.get_rank())
    losses, begun = [], time.monotonic()
    for _ in range(STEPS):
        points = torch.randn(BATCH, WIDTH, generator=random, device="cuda")
        loss = (model(points).squeeze(1) - points[:, :8].sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        losses.append(mean.item())
    elapsed = time.monotonic() - begun
    last = sum(losses[-10:]) / 10
    if dist.get_rank() == 0:
        codec = options.codec or os.environ.get("GOSS_NCCL_CODEC") or "none"
        print(f"torch {torch.__version__}, {options.parallel} over {options.backend}, codec {codec}: "
              f"loss {losses[0]:.3f}, then {last:.3f}; {STEPS / elapsed:.1f} steps a second on {dist.get_world_size()} ranks", flush=True)
    assert last < FALLS_TO * losses[0], losses
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
