"""DTensor: tensors are distributed, redistributed, multiplied and gathered as one tensor would be."""

import begin
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

with begin.group() as (rank, size):
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(float(12 * size * 5)).reshape(12 * size, 5)
    for placement in (Shard(0), Shard(1), Replicate()):
        given = distribute_tensor(whole, mesh, [placement])
        for other in (Shard(0), Shard(1), Replicate()):
            moved = given.redistribute(mesh, [other])
            assert torch.equal(moved.full_tensor(), whole), (placement, other)
    parts = DTensor.from_local(torch.full((size, 3), float(rank)), mesh, [Partial()])
    assert (parts.full_tensor() == sum(range(size))).all()
    assert (parts.redistribute(mesh, [Shard(0)]).to_local() == sum(range(size))).all()
    product = distribute_tensor(whole, mesh, [Shard(0)]) @ distribute_tensor(whole.t().contiguous(), mesh, [Replicate()])
    torch.testing.assert_close(product.full_tensor(), whole @ whole.t())
    model, wanted = begin.network(), begin.network()
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    points = begin.batch(0, 0)[0]
    torch.testing.assert_close(model(points), wanted(points))
    grid = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("data", "tensor"))
    both = distribute_tensor(whole, grid, [Shard(0), Shard(1)])
    assert torch.equal(both.full_tensor(), whole)
