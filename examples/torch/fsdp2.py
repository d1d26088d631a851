"""FSDP2 with compressed traffic, as in QSDP and ZeRO++; one line, marked below, compresses. Needs torch 2.9 or later.

    torchrun --nproc-per-node 4 examples/torch/fsdp2.py --all-gather int8:block=256 --reduce-scatter int4:block=64+ef
"""

import argparse

import gossamer.torch
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all-gather", help="codec of the parameters")
    parser.add_argument("--reduce-scatter", help="codec of the gradients")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()

    dist.init_process_group("gossamer")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh()) for _ in range(3)], torch.nn.Linear(64, 1))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    gossamer.torch.compress_fsdp(model, options.all_gather, options.reduce_scatter)  # the line
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    random = torch.Generator().manual_seed(dist.get_rank())
    before = gossamer.torch.communicator().counters().wire_bytes_sent
    for step in range(1, options.steps + 1):
        points = torch.randn(32, 64, generator=random)
        loss = (model(points).squeeze(1) - points[:, :8].sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean, dist.ReduceOp.AVG)
            if dist.get_rank() == 0:
                print(f"step {step}: loss {mean.item():.4f}", flush=True)
    sent = gossamer.torch.communicator().counters().wire_bytes_sent - before
    if dist.get_rank() == 0:
        print(f"sent {sent / options.steps / 1e3:.1f} kB a step from each rank", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
