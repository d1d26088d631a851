"""torch.distributed.pipelining: stages on as many ranks compute the outputs and gradients of the whole model."""

import begin
import torch
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

LAYERS = 2  # of each stage


def whole(stages):
    torch.manual_seed(1)
    return torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()) for _ in range(LAYERS * stages)])


with begin.group() as (rank, size):
    points = torch.randn(16, 8, generator=torch.Generator().manual_seed(5))
    target = torch.zeros(16, 8)

    def loss_of(output, wanted):
        return (output - wanted).square().mean()

    reference = whole(size)
    loss_of(reference(points), target).backward()
    for schedule in (ScheduleGPipe, Schedule1F1B):
        part = whole(size)[LAYERS * rank:LAYERS * (rank + 1)]
        stage = PipelineStage(part, rank, size, torch.device("cpu"))
        runner = schedule(stage, n_microbatches=8, loss_fn=loss_of)
        output = runner.step(*([points] if rank == 0 else []), target=target if rank == size - 1 else None)
        if rank == size - 1:
            torch.testing.assert_close(output, reference(points))
        for one, other in zip(part.parameters(), reference[LAYERS * rank:LAYERS * (rank + 1)].parameters()):
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6)
