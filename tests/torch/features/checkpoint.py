"""DCP: a sharded model and its optimizer are saved, in the background too, and loaded into another one."""

import shutil
import tempfile

import begin
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def sharded(size):
    model = fully_shard(begin.network(), mesh=init_device_mesh("cpu", (size,)))
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)


def values(model):
    return [one.full_tensor().detach().clone() for one in model.parameters()]


with begin.group() as (rank, size):
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder)
    model, optimizer = sharded(size)
    for step in range(3):
        begin.step_of(model, optimizer, *begin.batch(rank, step))
    wanted = values(model)
    states = get_state_dict(model, optimizer)
    dcp.save({"model": states[0], "optimizer": states[1]}, checkpoint_id=folder[0] + "/one")
    dcp.async_save({"model": states[0]}, checkpoint_id=folder[0] + "/other", process_group=dist.new_group(backend=dist.get_backend())).result()
    begin.step_of(model, optimizer, *begin.batch(rank, 3))
    after = values(model)
    again, again_optimizer = sharded(size)
    begin.step_of(again, again_optimizer, *begin.batch(rank, 77))  # so that the optimizer has a state
    states = get_state_dict(again, again_optimizer)
    found = {"model": states[0], "optimizer": states[1]}
    dcp.load(found, checkpoint_id=folder[0] + "/one")
    set_state_dict(again, again_optimizer, model_state_dict=found["model"], optim_state_dict=found["optimizer"])
    assert all(map(torch.equal, values(again), wanted))
    begin.step_of(again, again_optimizer, *begin.batch(rank, 3))
    assert all(map(torch.equal, values(again), after))
    found = {"model": get_state_dict(again, again_optimizer)[0]}
    dcp.load(found, checkpoint_id=folder[0] + "/other")
    again.load_state_dict(found["model"])
    assert all(map(torch.equal, values(again), wanted))
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder[0])
