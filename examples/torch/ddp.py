"""Data parallel training; only the word after --backend differs from a trainer that uses Gloo.

    torchrun --nproc-per-node 4 examples/torch/ddp.py --backend gossamer
"""

import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

try:
    import gossamer.torch  # torch 2.14 and later find the backend without it
except ImportError:
    pass


def examples(count: int) -> TensorDataset:
    """Points of four classes: the quadrants of a plane, turned."""
    points = torch.randn(count, 2, generator=torch.Generator().manual_seed(1))
    turned = points @ torch.tensor([[0.8, -0.6], [0.6, 0.8]])
    return TensorDataset(points, (turned[:, 0] > 0).long() * 2 + (turned[:, 1] > 0).long())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="gossamer")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--codec", help="compress gradients, such as int8:block=256+ef (backend gossamer)")
    options = parser.parse_args()

    dist.init_process_group(options.backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(2, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4)))
    if options.codec:
        model.register_comm_hook(None, gossamer.torch.hook(options.codec))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = examples(2048)
    sampler = DistributedSampler(data, ranks, rank, seed=2)
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(1)
        for points, classes in DataLoader(data, batch_size=32, sampler=sampler):
            loss = torch.nn.functional.cross_entropy(model(points), classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(points)
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch}: loss {total.item() / len(data):.9f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
