"""Functional collectives: each gives the values of its namesake, and those of autograd the gradients."""

import begin
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn.functional as differentiable

with begin.group() as (rank, size):
    world = dist.group.WORLD
    mine = torch.full((size, 2), float(rank))
    everyone = torch.cat([torch.full((size, 2), float(other)) for other in range(size)])
    assert (functional.all_reduce(mine, "sum", world) == sum(range(size))).all()
    assert (functional.all_reduce(mine, "avg", world) == (size - 1) / 2).all()
    assert torch.equal(functional.all_gather_tensor(mine, 0, world), everyone)
    assert (functional.reduce_scatter_tensor(mine, "sum", 0, world) == sum(range(size))).all()
    assert torch.equal(functional.all_to_all_single(mine, None, None, world), torch.arange(float(size)).repeat_interleave(2).view(-1, 2))
    assert (functional.broadcast(mine, 1, world) == 1).all()
    for one in functional.all_reduce_coalesced([mine, mine + 1], "max", world):
        assert one.max() >= size - 1
    assert torch.equal(functional.all_gather_into_tensor_coalesced([mine, mine], world)[1], everyone)
    assert (functional.reduce_scatter_tensor_coalesced([mine, mine], "sum", [0, 0], world)[0] == sum(range(size))).all()
    value = torch.full((3,), float(rank), requires_grad=True)
    differentiable.all_reduce(value * 2).sum().backward()
    assert (value.grad == 2 * size).all()
    value.grad = None
    torch.stack(differentiable.all_gather(value))[rank].sum().backward()
    assert (value.grad == 1).all(), value.grad
    value = torch.ones(size, requires_grad=True)
    functional.all_to_all_single_autograd(value * (rank + 1), None, None, world).sum().backward()
    assert (value.grad == rank + 1).all()
