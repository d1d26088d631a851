"""FSDP2 with codecs: trains nearly as without, gives all ranks the same bits, and sends less."""

import begin
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import gossamer.torch

STEPS = 20


def trained(rank, size, all_gather, reduce_scatter):
    """Parameters after some steps, outputs of the last batch, and bytes sent."""
    mesh = init_device_mesh("cpu", (size,))
    model = begin.network(256)
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    gossamer.torch.compress_fsdp(model, all_gather, reduce_scatter)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    before = gossamer.torch.communicator().counters().wire_bytes_sent
    for step in range(STEPS):
        begin.step_of(model, optimizer, *begin.batch(rank, step))
    sent = gossamer.torch.communicator().counters().wire_bytes_sent - before
    with torch.no_grad():
        outputs = model(begin.batch(0, 99)[0])  # of what is gathered, so equal bits show that all ranks gather the same
    return torch.cat([one.full_tensor().detach().reshape(-1) for one in model.parameters()]), outputs, sent


with begin.group() as (rank, size):
    plain, _, plain_sent = trained(rank, size, None, None)
    for codecs, ratio in ((("int8:block=256", "int8:block=256"), 0.3), (("int8:block=256", "int4:block=64+ef"), 0.27)):
        packed, outputs, sent = trained(rank, size, *codecs)
        everyone = [torch.empty_like(outputs) for _ in range(size)]
        dist.all_gather(everyone, outputs)
        assert all(torch.equal(one, outputs) for one in everyone), codecs
        assert 0 < (packed - plain).abs().max() < 0.05, (codecs, (packed - plain).abs().max())
        assert sent < ratio * plain_sent, (codecs, sent / plain_sent)
    try:
        gossamer.torch.compress_fsdp(begin.network(), "int8")
        raise AssertionError("it is not sharded")
    except gossamer.InvalidArgument:
        pass
