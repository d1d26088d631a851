"""ZeroRedundancyOptimizer under DDP trains as one process does, and its state is collected."""

import begin
import torch
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

with begin.group() as (rank, size):
    model = DistributedDataParallel(begin.network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.01)
    for step in range(5):
        begin.step_of(model, optimizer, *begin.batch(rank, step))
    begin.check_close([one.detach() for one in model.parameters()], begin.trained_alone(size, 5))
    optimizer.consolidate_state_dict(to=0)
    if rank == 0:
        assert len(optimizer.state_dict()["state"]) == len(list(model.parameters()))
