"""Begins and ends the programs of this folder: makes a default group of the backend that BACKEND names, and destroys it."""

import contextlib
import datetime
import os

import torch
import torch.distributed as dist

if os.environ["BACKEND"] == "gossamer":
    import gossamer.torch  # where it is not installed, torch cannot find it


@contextlib.contextmanager
def group():
    """Gives rank and size."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group(os.environ["BACKEND"], timeout=datetime.timedelta(seconds=60))
    yield dist.get_rank(), dist.get_world_size()
    dist.barrier()
    dist.destroy_process_group()


def network(width=32):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.Tanh(), torch.nn.Linear(width, width), torch.nn.Tanh(),
                               torch.nn.Linear(width, 1))


def batch(rank, step):
    points = torch.randn(16, 8, generator=torch.Generator().manual_seed(1000 * rank + step))
    return points, points.sum(1, keepdim=True)


def step_of(model, optimizer, points, wanted):
    loss = (model(points) - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def trained_alone(size, steps, make=lambda parameters: torch.optim.AdamW(parameters, lr=0.01)):
    """Parameters after steps on the batches of all ranks together."""
    model = network()
    optimizer = make(model.parameters())
    for step in range(steps):
        parts = [batch(rank, step) for rank in range(size)]
        step_of(model, optimizer, torch.cat([one for one, _ in parts]), torch.cat([one for _, one in parts]))
    return [one.detach() for one in model.parameters()]


def check_close(got, wanted):
    """Means of float32 in another order differ by a few roundings of 2^-24, which Adam's division may enlarge where gradients are small."""
    for one, other in zip(got, wanted):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
