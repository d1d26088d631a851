"""Synchronizers in torch against their definitions."""

import gc
import re
import sys
import threading
import unittest

import gossamer
import ranks

try:
    import torch
except ImportError:
    torch = None


def network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def loss_of(model, rank, step):
    points = torch.randn(8, 6, generator=torch.Generator().manual_seed(1000 * rank + step))
    return (model(points) - points.sum(1, keepdim=True)).square().mean()


def flat(model):
    return torch.cat([one.detach().reshape(-1) for one in model.parameters()])


def make(comm, spec, lr=0.05, momentum=0.0):
    """A model of this rank, its optimizer, and a synchronizer around it."""
    model = network(seed=comm.rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    return model, optimizer, gossamer.Synchronizer(model.named_parameters(), spec, optimizer=optimizer, comm=comm)


def train(comm, model, optimizer, sync, steps):
    """The usual loop."""
    for step in steps:
        if sync.computes():
            optimizer.zero_grad(set_to_none=bool(step % 2))
            loss_of(model, comm.rank, step).backward()
            optimizer.step()
        else:
            sync.step()


def equals_its_definition(comm):
    """DiLoCo, with all ranks' local steps computed here."""
    model, optimizer, sync = made = make(comm, "diloco:h=5,lr=0.7,momentum=0.9")
    train(comm, *made, range(20))
    assert sync.has_local_steps and not sync.exchanges_gradients and sync.spec.startswith("diloco:h=5")
    sync.finish()
    outer = network(seed=0)
    descent = torch.optim.SGD(outer.parameters(), lr=0.7, momentum=0.9, nesterov=True)
    for first in range(0, 20, 5):
        replicas = []
        for rank in range(comm.size):
            local = network()
            local.load_state_dict(outer.state_dict())
            optimizer = torch.optim.SGD(local.parameters(), lr=0.05)
            for step in range(first, first + 5):
                optimizer.zero_grad()
                loss_of(local, rank, step).backward()
                optimizer.step()
            replicas.append(local)
        for parameter, *others in zip(outer.parameters(), *(one.parameters() for one in replicas)):
            parameter.grad = parameter.detach() - sum(one.detach() for one in others) / comm.size
        descent.step()
    assert torch.allclose(flat(model), flat(outer), rtol=1e-5, atol=1e-6), (flat(model) - flat(outer)).abs().max()
    assert sync.counters().exchanges >= 4 and sync.counters().steps == 20
    sync.close()

    model, optimizer, sync = made = make(comm, "ddp:bucket_kb=1", momentum=0.5)  # against plain descent by the mean of gradients
    train(comm, *made, range(10))
    wanted = network(seed=0)
    optimizer = torch.optim.SGD(wanted.parameters(), lr=0.05, momentum=0.5)
    for step in range(10):
        optimizer.zero_grad()
        (sum(loss_of(wanted, rank, step) for rank in range(comm.size)) / comm.size).backward()
        optimizer.step()
    assert torch.allclose(flat(model), flat(wanted), rtol=1e-5, atol=1e-6)
    sync.close()


def every_method(comm):
    """Each method trains, ends with equal parameters, and continues from a state; with the same bits where those do not depend on
    time. There a rank destroys its synchronizer while the other one still averages with it."""
    for method in gossamer.sync_methods():
        name = method["name"]
        spec = name + (":h=4" if "h" in [one["key"] for one in method["parameters"]] else "")
        model, optimizer, sync = made = make(comm, spec, lr=0.002 if name == "demo" else 0.05)
        train(comm, *made, range(9))
        before = [one.detach().clone() for one in model.parameters()]
        state = sync.state_dict()
        assert state["spec"] == sync.spec and state["ranks"] == comm.size
        train(comm, *made, range(9, 15))
        wanted = flat(model)
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), before):
                parameter.copy_(value)
        if name == "heloco":
            comm.barrier()  # rank 0 holds the model of all, which each rank's state is read from
        sync.load_state_dict(state)
        train(comm, *made, range(9, 15))
        assert torch.equal(flat(model), wanted) or method["depends_on_time"], name
        sync.finish()
        everyone = torch.zeros(comm.size, len(wanted))
        comm.all_gather(flat(model), everyone)
        assert (everyone == everyone[0]).all() and torch.isfinite(everyone).all(), name
        sync.close()
    model, optimizer, sync = made = make(comm, "diloco:h=4,steps=dynamic")
    train(comm, *made, range(12))
    sync.finish()
    sync.close()


def refused(error, words, call):
    try:
        call()
    except error as found:
        assert words.lower() in found.text.lower(), found
    else:
        raise AssertionError(words)


def other_uses(comm):
    import numpy as np  # pylint: disable=import-outside-toplevel

    # numpy, without an optimizer, and from the states of both ranks
    weights, gradient = np.full(10, comm.rank, "float32"), np.zeros(10, "float32")
    with gossamer.Synchronizer([("weights", weights, gradient)], "ddp", comm=comm) as sync:
        assert (weights == 0).all()  # rank 0's
        gradient[:] = comm.rank
        sync.gradient_ready(0)
        sync.gradients()
        assert (gradient == (comm.size - 1) / 2).all()
        sync.set_lr(0.1)
        sync.step()
        state = sync.state_dict()
    boxes = [bytearray(len(state["bytes"])) for _ in range(comm.size)]
    for root, box in enumerate(boxes):
        if comm.rank == root:
            box[:] = state["bytes"]
        comm.broadcast(box, root)
    alone = comm.split(comm.rank)
    with gossamer.Synchronizer([("weights", weights, gradient)], "ddp", comm=alone,
                               state=[{**state, "bytes": bytes(box)} for box in boxes]) as sync:
        sync.gradients()
        sync.step()
    alone.close()

    # a parameter that has moved, and what is known of a closed synchronizer
    model = network()
    sync = gossamer.Synchronizer(model.named_parameters(), "diloco:h=5", comm=comm)
    sync.step()
    model[0].weight.data = model[0].weight.data.clone()
    for call in (sync.gradients, sync.step, sync.finish):
        refused(gossamer.InvalidArgument, "0.weight has moved", call)
    spec = str(sync.spec)
    sync.close()
    rubbish = [bytes(len(spec)) for _ in range(1000)]
    assert sync.spec == spec and rubbish

    # a schedule that begins and ends with a rate of 0
    for name in ("ddp", "slowmo:h=3"):
        model, optimizer, sync = make(comm, name)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step % 2)
        for step in range(3):
            optimizer.zero_grad()
            loss_of(model, comm.rank, step).backward()
            optimizer.step()
            schedule.step()
        assert torch.isfinite(flat(model)).all()
        sync.close()

    # clipped gradients: after the exchange, or not at all
    model, optimizer, sync = make(comm, "ddp", lr=1.0)
    before = flat(model)
    loss_of(model, comm.rank, 0).backward()
    sync.gradients()
    exchanged = [one.grad.clone() for one in model.parameters()]
    sync.gradients()  # they have been exchanged
    assert all(torch.equal(one.grad, seen) for one, seen in zip(model.parameters(), exchanged))
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    optimizer.step()
    assert (flat(model) - before).norm() < 1.01e-3
    for set_to_none in (True, False):
        optimizer.zero_grad(set_to_none=set_to_none)
        loss_of(model, comm.rank, 1).backward()
        sync.gradients()
        sync.step()  # a step without an update
    loss_of(model, comm.rank, 2).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    refused(gossamer.InvalidArgument, "was changed after backward", optimizer.step)
    sync.close()

    # an optimizer keeps its synchronizer, and makes no step alone when that has lost its communicator
    model = network(seed=comm.rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    own = comm.dup()
    gossamer.Synchronizer(model.named_parameters(), "ddp", optimizer=optimizer, comm=own)
    gc.collect()
    loss_of(model, comm.rank, 0).backward()
    optimizer.step()
    everyone = torch.zeros(comm.size, len(flat(model)))
    comm.all_gather(flat(model), everyone)
    assert (everyone == everyone[0]).all()
    refused(gossamer.InvalidArgument, "belongs to another", lambda: gossamer.Synchronizer(
        model.named_parameters(), "ddp", optimizer=optimizer, comm=own))
    own.close()
    refused(gossamer.Aborted, "make another one", optimizer.step)
    with gossamer.Synchronizer(model.named_parameters(), "diloco:h=2", optimizer=optimizer, comm=comm) as sync:
        optimizer.zero_grad()
        loss_of(model, comm.rank, 0).backward()
        optimizer.step()
        other = {**sync.state_dict(), "rank": (comm.rank + 1) % comm.size}
        refused(gossamer.InvalidArgument, "every rank saves and loads its own", lambda: sync.load_state_dict(other))
    optimizer.step()  # its own again

    # accumulated gradients
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sync = gossamer.Synchronizer(model.named_parameters(), "ddp", optimizer=optimizer, comm=comm)
    with sync.no_sync():
        loss_of(model, comm.rank, 0).backward()
    loss_of(model, comm.rank, 1).backward()
    refused(gossamer.InvalidArgument, "no_sync", lambda: loss_of(model, comm.rank, 2).backward())
    sync.close()
    optimizer.step()  # its own again

    for spec, error, words in (("nosuch", gossamer.InvalidArgument, "nosuch"), ("diloco:k=3", gossamer.InvalidArgument, "k")):
        refused(error, words, lambda spec=spec: gossamer.Synchronizer(model.named_parameters(), spec, comm=comm))
    refused(gossamer.Unsupported, "float32", lambda: gossamer.Synchronizer(network().double().named_parameters(), comm=comm))
    sync = gossamer.Synchronizer(model.named_parameters(), "ddp", comm=comm)
    comm.barrier()
    if comm.rank == 0:
        sync.abort("enough")
    try:
        sync.gradients()
        raise AssertionError("aborted")
    except gossamer.Aborted as error:
        assert "enough" in error.text
    globals()["left"] = sync  # the interpreter ends with it


def linear(comm, optimizer=None, **settings):
    """A layer whose gradient is 2 everywhere, a synchronizer around its optimizer, and its weights."""
    layer = torch.nn.Linear(5, 5, bias=False)
    made = (optimizer or torch.optim.SGD)(layer.parameters(), lr=1.0, **settings)
    sync = gossamer.Synchronizer(layer.named_parameters(), "ddp", optimizer=made, comm=comm)
    return layer, made, sync, layer.weight.detach().clone()


def changed_gradients(comm):
    """Every way to write to a gradient whose exchange has begun is refused, and those of the next steps are exchanged."""
    def halved(gradient):
        gradient.numpy()[:] *= 0.5

    def one_bit(gradient):
        gradient.data.view(torch.int32)[3, 2] ^= 1

    def not_a_number(gradient):
        gradient.data[4, 4] = float("nan")

    for change in (lambda gradient: gradient.data.clamp_(-0.1, 0.1), lambda gradient: gradient.data.neg_(), halved, one_bit, not_a_number):
        for is_first in (True, False):
            layer, optimizer, sync, _ = linear(comm)
            if not is_first:  # autograd adds to what the optimizer has seen
                layer(torch.ones(2, 5)).sum().backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)
            layer(torch.ones(2, 5)).sum().backward()
            change(layer.weight.grad)
            refused(gossamer.InvalidArgument, "weight was changed after backward", optimizer.step)
            sync.close()
            comm.barrier()
    layer, optimizer, sync, before = linear(comm)
    for value in (float("nan"), float("inf"), 1.0):  # unchanged ones that equal themselves nowhere
        layer.weight.data.copy_(before)
        optimizer.zero_grad(set_to_none=False)
        layer(torch.full((2, 5), value)).sum().backward()
        optimizer.step()
    assert torch.equal(layer.weight.detach(), before - 2)
    sync.close()


def unused_parameters(comm):
    """The optimizer leaves a parameter alone that no rank has used, and decays it on all ranks alike if one has, be its gradient 0."""
    for size in (3, 100000):  # a bucket of several tensors, and one of its own
        first, second, third = parameters = [torch.nn.Parameter(torch.ones(size)) for _ in range(3)]
        optimizer = torch.optim.AdamW(parameters, lr=0.1, weight_decay=0.5)
        sync = gossamer.Synchronizer(zip("abc", parameters), "ddp:bucket_kb=64", optimizer=optimizer, comm=comm)
        for step in range(3):
            optimizer.zero_grad(set_to_none=True)
            (first.sum() + (second * -0.0).sum() if comm.rank == step % comm.size else first.sum()).backward()
            optimizer.step()
            assert third.grad is None and second.grad is not None
        assert torch.allclose(second, torch.tensor(0.95**3)) and (third == 1).all() and (first < 0.9).all()
        sync.close()
    # A codec gives other bits for gradients that are all -0.0, and sign none that are 0.
    for spec in ("ddp:codec=int8", "ddp:codec=sign+ef", "ddp:codec=topk:ratio=0.5", "ddp:codec=fp16+ef", "ddp:codec=e4m3", "ef21"):
        first, second, third = parameters = [torch.nn.Parameter(torch.ones(300)) for _ in range(3)]
        optimizer = torch.optim.AdamW(parameters, lr=0.1, weight_decay=0.5)
        sync = gossamer.Synchronizer(zip("abc", parameters), spec, optimizer=optimizer, comm=comm)
        for step in range(3):
            optimizer.zero_grad(set_to_none=True)
            (first.sum() + second.sum() if comm.rank == step % comm.size else first.sum()).backward()
            optimizer.step()
            assert third.grad is None and second.grad is not None, spec
        assert (third == 1).all() and (first < 0.9).all(), spec
        state = sync.state_dict()
        sync.load_state_dict(state)
        optimizer.zero_grad(set_to_none=True)
        (first.sum() if comm.rank == 0 else third.sum()).backward()
        optimizer.step()
        assert second.grad is None and third.grad is not None, spec
        sync.close()
    # Gradients that a codec rounds to -0.0 beside a rank without one: all ranks give the optimizer the same.
    used, gate = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.AdamW([used, gate], lr=0.1, weight_decay=0.5)
    sync = gossamer.Synchronizer([("used", used), ("gate", gate)], "ddp:codec=fp16", optimizer=optimizer, comm=comm)
    (used.sum() + (gate * -1e-9).sum() if comm.rank != 0 else used.sum()).backward()
    optimizer.step()
    everyone = torch.empty(comm.size)
    comm.all_gather(gate.detach(), everyone)
    assert (everyone == everyone[0]).all(), everyone
    sync.close()


def two_threads(comm):
    """A backward pass of two threads, as autograd has one for each device; another call beside them is refused."""
    parameters = [torch.nn.Parameter(torch.ones(20000)) for _ in range(200)]
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    sync = gossamer.Synchronizer([(str(place), one) for place, one in enumerate(parameters)], "ddp", optimizer=optimizer, comm=comm)
    errors = []

    def half(first):
        try:
            sum((one * 2).sum() for one in parameters[first::2]).backward()
        except gossamer.Error as error:
            errors.append(error)

    sys.setswitchinterval(1e-6)
    for _ in range(3):
        optimizer.zero_grad()
        threads = [threading.Thread(target=half, args=(first,)) for first in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors, errors
        optimizer.step()
    assert all((one == -5).all() for one in parameters)
    with sync._in_call:
        refused(gossamer.InvalidArgument, "another thread", sync.counters)
    sync.close()


def scaled_gradients(comm):
    """torch's GradScaler: gradients are exchanged before they are unscaled, or an error says so."""
    for fused in (False, True):
        for infinite in (False, True):
            layer, optimizer, sync, before = linear(comm, fused=fused)
            scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
            for _ in range(2):
                optimizer.zero_grad()
                scaler.scale(layer(torch.full((2, 5), float("inf") if infinite and comm.rank == 0 else 1.0)).sum()).backward()
                sync.gradients()
                scaler.unscale_(optimizer)
                scaler.step(optimizer)
                scaler.update()
                if infinite and not fused:
                    sync.step()  # GradScaler has left out the optimizer's
            assert torch.allclose(layer.weight.detach(), before - (0 if infinite else 4)), (fused, infinite)
            assert scaler.get_scale() == (16384.0 if infinite else 65536.0)
            optimizer.zero_grad()
            scaler.scale(layer(torch.ones(2, 5)).sum()).backward()
            refused(gossamer.InvalidArgument, "call gradients() of the synchronizer before", lambda: scaler.step(optimizer))
            assert torch.allclose(layer.weight.detach(), before - (0 if infinite else 4)), (fused, infinite)
            sync.close()
            comm.barrier()


@unittest.skipIf(torch is None, "torch is not installed (scripts/install-deps --torch)")
class Synchronizers(unittest.TestCase):
    def test_methods_equal_their_definitions(self):
        ranks.run(3, "synchronizer_test", "equals_its_definition", timeout=100)

    def test_every_method_trains_and_resumes(self):
        ranks.run(2, "synchronizer_test", "every_method", timeout=100)

    def test_the_example_trains_with_less_traffic(self):
        bytes_sent = []
        for spec in ("ddp", "diloco:h=20", "diloco:h=20,codec=int8"):
            printed = ranks.program(2, "diloco.py", "--sync", spec)[0]
            losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", printed)]
            self.assertLess(losses[-1], 0.6 * losses[0], printed)
            bytes_sent.append(float(re.search(r"sent ([0-9.]+) kB", printed).group(1)))
        self.assertLess(bytes_sent[1], bytes_sent[0] / 15)
        self.assertLess(bytes_sent[2], bytes_sent[1] / 3)

    def test_arrays_accumulation_and_errors(self):
        ranks.run(2, "synchronizer_test", "other_uses", timeout=100)

    def test_unused_parameters_stay(self):
        ranks.run(3, "synchronizer_test", "unused_parameters", timeout=100)

    def test_two_threads_compute_gradients(self):
        ranks.run(2, "synchronizer_test", "two_threads", timeout=100)

    def test_changed_gradients_are_refused(self):
        ranks.run(2, "synchronizer_test", "changed_gradients", timeout=100)

    @unittest.skipIf(not hasattr(getattr(torch, "amp", None), "GradScaler"), "this torch has no GradScaler for the CPU")
    def test_gradients_are_exchanged_before_they_are_unscaled(self):
        ranks.run(2, "synchronizer_test", "scaled_gradients", timeout=100)


if __name__ == "__main__":
    unittest.main()
