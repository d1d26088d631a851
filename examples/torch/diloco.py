"""DiLoCo and its kin in PyTorch: two lines, marked below, turn local training into any method of docs/synchronizers.md.

    torchrun --nproc-per-node 4 examples/torch/diloco.py --sync diloco:h=20
    mpirun -np 4 python3 examples/torch/diloco.py --sync "streaming:h=20,fragments=2,tau=2"
"""

import argparse

import gossamer
import torch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sync", default="diloco:h=20", help="a method of docs/synchronizers.md with its parameters")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--lr", type=float, default=0.05)
    options = parser.parse_args()

    comm = gossamer.init()
    torch.set_num_threads(1)
    torch.manual_seed(comm.rank)  # each rank draws its own points; the synchronizer gives all of them rank 0's parameters
    model = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)
    sync = gossamer.Synchronizer(model.named_parameters(), options.sync, optimizer=optimizer, comm=comm)  # the first line
    for step in range(1, options.steps + 1):
        points = torch.rand(32, 2) * 4 - 2
        loss = (model(points)[:, 0] - torch.sin(points[:, 0]) * points[:, 1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            mean = loss.detach().clone()
            comm.all_reduce(mean, op="avg")
            if comm.rank == 0:
                print(f"step {step}: loss {mean.item():.4f}", flush=True)
    sync.finish()  # the second line
    if comm.rank == 0:
        sent = sync.counters().wire_bytes_sent
        print(f"{sync.spec}: sent {sent / 1e3:.1f} kB from each rank", flush=True)


if __name__ == "__main__":
    main()
