"""FSDP2: fully_shard trains as one process does, also after clipping gradients, and its parameters are gathered again."""

import begin
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

with begin.group() as (rank, size):
    mesh = init_device_mesh("cpu", (size,))
    model = begin.network()
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        begin.step_of(model, optimizer, *begin.batch(rank, step))
    begin.check_close([one.full_tensor().detach() for one in model.parameters()], begin.trained_alone(size, 5))
    model(begin.batch(rank, 9)[0]).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1).full_tensor()
    after = torch.nn.utils.get_total_norm([one.grad for one in model.parameters()]).full_tensor()
    assert norm > 0.1 and abs(after - 0.1) < 1e-4, (norm, after)
