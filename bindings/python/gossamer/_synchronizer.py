"""Synchronizers: DiLoCo and its kin for any trainer."""

import atexit
import contextlib
import ctypes
import functools
import sys
import threading
import traceback
import types
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import _abi, _buffers, _waiting
from ._comm import _LONGEST_CLOSE, Comm
from ._errors import Aborted, InvalidArgument, Unsupported, check, refuse_copy
from ._library import library, take_bytes, take_json
from ._world import init

__all__ = ["SyncCounters", "Synchronizer"]

_SAMPLES = 64  # elements of a gradient that are compared themselves
_MINUS_ZERO = -(2**31)  # the bits of -0.0
_EXACT_CODECS = ("none", "fp16", "bf16", "lossless", "exponents")  # those through which -0.0 comes as it is


class SyncCounters(NamedTuple):
    """Running totals of a synchronizer on this rank; sync.h says what each counts."""

    steps: int
    exchanges: int
    exchanged_bytes: int
    wire_bytes_sent: int
    wire_bytes_received: int
    waited_ns: int
    setup_bytes_sent: int


class _Tensor:
    """A parameter, and the gradient that the library exchanges."""

    def __init__(self, name: str, parameter: Any, gradient: Any = None) -> None:
        self.name = name
        self.parameter = parameter
        self.gradient = gradient
        self.is_torch = hasattr(parameter, "requires_grad")
        self.is_on_device = self.is_torch and parameter.device.type == "cuda"  # whose work torch's streams order
        self._read: Optional[Tuple[int, int]] = None  # place and version of the gradient of autograd that was read
        self._bits: Any = None  # and its fingerprint

    def lend_gradient(self) -> None:
        """Makes the memory in which the library finds the gradient: autograd puts it into other tensors from step to step."""
        if self.is_torch and self.gradient is None:
            self.gradient = self.parameter.detach().clone().zero_()

    def read_gradient(self) -> None:
        """Copies what autograd has left to where the library finds it. Where there is nothing, all is -0.0, which the mean over ranks
        keeps if no rank has more; elsewhere the first element is never -0.0."""
        if not self.is_torch:
            return
        found = self.parameter.grad
        if found is None:
            self.gradient.fill_(-0.0)
            return
        if found.data_ptr() != self.gradient.data_ptr():
            self.gradient.copy_(found.detach())
        self.gradient.reshape(-1)[:1].add_(0.0)

    def part_with_gradient(self) -> None:
        """Notes the gradient that was read. The exchange may write into the library's memory from now on, so autograd's is another."""
        if self.parameter.grad is not None and self.parameter.grad.data_ptr() == self.gradient.data_ptr():
            self.parameter.grad = self.gradient.clone()
        self._read, self._bits = self._place_of_gradient(), self._fingerprint()

    def _place_of_gradient(self) -> Optional[Tuple[int, int]]:
        found = self.parameter.grad
        return None if found is None else (found.data_ptr(), found._version)

    def _fingerprint(self) -> Any:
        """Some elements of autograd's gradient and the sum of its bits, in which the order of summation does not matter. Neither
        unscaling by GradScaler, nor numpy, nor `grad.data` raises the version."""
        torch = sys.modules["torch"]
        found = self.parameter.grad
        if found is None or found.numel() == 0:
            return torch.zeros(0, dtype=torch.int64, device=self.parameter.device)
        flat = found.detach().reshape(-1)
        first = flat.storage_offset() % 2  # a pair of elements is added as an integer
        pairs = flat[first:first + (len(flat) - first) // 2 * 2].view(torch.int64)
        some = torch.cat([flat[::-(-len(flat) // _SAMPLES)], flat[-1:]])
        return torch.cat([some.view(torch.int32).to(torch.int64), pairs.sum().reshape(1)])

    @staticmethod
    def changed(tensors: "Sequence[_Tensor]") -> "Optional[_Tensor]":
        """One whose gradient of autograd the program has written to, or replaced, since part_with_gradient(). The host waits for a device once."""
        for one in tensors:
            if one._read != one._place_of_gradient():
                return one
        for device in {one.parameter.device for one in tensors}:
            pairs = [(one, one._bits, one._fingerprint()) for one in tensors if one.parameter.device == device]
            torch = sys.modules["torch"]
            if not torch.equal(torch.cat([before for _, before, _ in pairs]), torch.cat([now for _, _, now in pairs])):
                return next(one for one, before, now in pairs if not torch.equal(before, now))
        return None

    @staticmethod
    def show_gradients(tensors: "Sequence[_Tensor]", used: Optional[Sequence[int]]) -> None:
        """Gives the optimizer the exchanged gradients, or none where no rank has one: zeros would let it decay the weights. ``used``
        says of each tensor of torch whether some rank has; None: the ranks decide by the exchanged bits alone, which are equal on all.
        Then the host waits for a device once, and for each tensor without."""
        ours = [one for one in tensors if one.is_torch]
        for place, one in enumerate(ours):
            one.parameter.grad = one.gradient if used is None or used[place] else None
        if used is not None:
            return
        for device in {one.parameter.device for one in ours}:
            torch = sys.modules["torch"]
            there = [one for one in ours if one.parameter.device == device and one.gradient.numel() > 0]
            firsts = torch.cat([one.gradient.reshape(-1)[:1] for one in there]).view(torch.int32).tolist() if there else []
            for one, first in zip(there, firsts):
                if first == _MINUS_ZERO and bool((one.gradient.view(torch.int32) == _MINUS_ZERO).all()):
                    one.parameter.grad = None

    def when_ready(self, call: Callable[[], None]) -> Any:
        """Makes autograd call `call` when this tensor's gradient is accumulated. The result keeps the hook."""
        if hasattr(self.parameter, "register_post_accumulate_grad_hook"):  # torch 2.1
            return self.parameter.register_post_accumulate_grad_hook(lambda _: call())
        node = self.parameter.expand_as(self.parameter).grad_fn.next_functions[0][0]
        return node, node.register_hook(lambda *_: call())


def _tensors(named: Iterable[Tuple[Any, ...]]) -> List[_Tensor]:
    found = [_Tensor(*one) for one in named]
    return [one for one in found if not one.is_torch or one.parameter.requires_grad]


def _module_layers(names: Sequence[str]) -> List[int]:
    """A layer for each module, by the names of torch: "encoder.0.weight" and "encoder.0.bias" are of one."""
    modules: Dict[str, int] = {}
    return [modules.setdefault(name.rpartition(".")[0], len(modules)) for name in names]


def _communicator(comm: Any) -> Tuple[Comm, bool]:
    """A communicator, and whether it was made here."""
    if isinstance(comm, Comm):
        return comm, False
    torch = sys.modules.get("torch")
    if comm is not None or (torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized()):
        from .torch import communicator  # pylint: disable=import-outside-toplevel

        return communicator(comm), False
    return init(), True


class Synchronizer:
    """Keeps the replicas of a model together by one of the methods of docs/synchronizers.md.

        sync = gossamer.Synchronizer(model.named_parameters(), "diloco:h=50", optimizer=optimizer)
        ...                        # the usual loop: zero_grad(), backward(), optimizer.step()
        sync.finish()              # all ranks hold the same parameters

    With ``optimizer`` each ``optimizer.step()`` first exchanges gradients and then synchronizes parameters, as the method wants, and
    the optimizer keeps the synchronizer alive; a program that clips gradients calls gradients() before that. Without it the loop
    calls gradients() before and step() after its own update. All calls are collective: every rank makes them, in the same order; with
    adpsgd and acid ranks may make unequal numbers of steps.

    ``named``: pairs of name and parameter (torch; those that do not require a gradient are left out), or triples of name, array
    and gradient (numpy and other buffers), in the order of the forward pass, float32. They belong to the synchronizer until close().
    Making it gives all ranks rank 0's parameters. On a CUDA device each call first waits until torch's current stream has come to
    it; arrays of others than torch must be ready. The library computes on a copy in pinned memory (docs/devices.md).

    ``comm``: a Comm, a process group of backend gossamer, or None: torch's default group if there is one, else a new gossamer.init().
    ``layers``: a number for each tensor; those of equal numbers stay in one fragment. None: the tensors of a module are a layer.
    ``state``: what state_dict() gave on this rank, or a list of those of all ranks of a run on another number of ranks.

    Raises InvalidArgument naming what is wrong with the spec, Unsupported for other types than float32, Mismatch when ranks
    differ. After a failed call the synchronizer refuses all further work.
    """

    def __init__(self, named: Iterable[Tuple[Any, ...]], spec: str = "ddp", optimizer: Any = None, comm: Any = None,
                 layers: Optional[Sequence[int]] = None, state: Any = None) -> None:
        self._handle: Optional[int] = None
        self._is_closing = False  # calls are refused; the handle is freed when the last call has come back
        self._in_call = threading.Lock()
        self._in_tell = threading.Lock()
        self._tensors = _tensors(named)
        self._layers = list(layers) if layers is not None else _module_layers([one.name for one in self._tensors])
        if len(self._layers) != len(self._tensors):
            raise InvalidArgument(f"Synchronizer: {len(self._layers)} layers for {len(self._tensors)} tensors; give one for each")
        self._given_spec = spec
        self._comm, self._owns_comm = _communicator(comm)
        self._comm._dependents.add(self)
        self._uses: Optional[Comm] = None  # over it the ranks agree on gradients that nobody has, where -0.0 cannot say so
        self._hooks: List[Any] = []
        self._told: "set[int]" = set()  # tensors whose gradients the library has in this step
        self._has_gradients = False  # gradients() has been called in this step
        self._is_holding = False
        self._is_begun = False
        self._given_loss: Optional[Callable[[], float]] = None
        self._optimizer = optimizer
        self._unwrapped: Any = None
        self._create(state)
        if self.exchanges_gradients:
            self._hook_autograd()
        if optimizer is not None:
            self._wrap(optimizer)
        _alive.add(self)

    # ---- A step ----

    def computes(self) -> bool:
        """Local, before each step, with ``steps=dynamic``: whether this rank takes part. If not, it calls step() alone."""
        computes = ctypes.c_int32()
        self._short(library.goss_sync_computes, computes)
        return bool(computes.value)

    def step_time(self, seconds: float) -> None:
        """Local, during a step: how many seconds this rank computes in it, for ``steps=dynamic``."""
        self._short(library.goss_sync_step_time, seconds)

    def set_lr(self, lr: float) -> None:
        """Local, between steps: the learning rate of the steps to come, at least 0. An ``optimizer`` tells it by itself."""
        self._short(library.goss_sync_set_lr, lr)

    def set_loss(self, loss: Callable[[], float]) -> None:
        """Local, between steps: what ``one-byte`` evaluates in gradients() instead of a backward pass: this rank's loss, on the step's
        data, at the parameters as they are at the call. An exception in it counts as a loss that is not finite."""
        def evaluate(_: Any) -> float:
            try:
                return float(loss())
            except BaseException:  # pylint: disable=broad-except
                traceback.print_exc()
                return float("nan")

        given = _abi.goss_sync_loss()
        library.goss_sync_loss_init(given, ctypes.sizeof(given))
        callback: Any = dict(_abi.goss_sync_loss._fields_)["evaluate"]
        given.evaluate = callback(evaluate)
        self._short(library.goss_sync_set_loss, given)
        self._loss, self._given_loss = given, loss  # the callback lives as long as the library may call it

    def trials(self) -> Dict[str, Any]:
        """Local: what ``auto`` runs and has tried, as goss_sync_trials() of sync.h says; empty for other methods."""
        text = ctypes.c_char_p()
        self._short(library.goss_sync_trials, text)
        return take_json(text)  # type: ignore[no-any-return]

    def gradient_ready(self, index: int) -> None:
        """Local: the gradient of tensor ``index`` is final, so its exchange may begin. torch's autograd tells it by itself."""
        self._short(library.goss_sync_gradient_ready, index)

    def gradients(self) -> None:
        """Collective, after the backward pass: all gradients are exchanged, where the method does so. From then on they may be
        clipped or unscaled; with ``optimizer``, its step() does not exchange them again. If there is no update in this step, such as
        when torch's GradScaler has found infinities, call step() all the same."""
        self._open()
        if self._has_gradients:
            return
        self._begin_step()
        self._check_places()
        if self.exchanges_gradients:
            for index, tensor in enumerate(self._tensors):
                if index not in self._told:
                    tensor.read_gradient()
            changed = _Tensor.changed([self._tensors[index] for index in sorted(self._told)])
            if changed is not None:
                raise InvalidArgument(f"the gradient of {changed.name} was changed after backward(), which has begun to exchange it; "
                                      "call gradients() of the synchronizer before gradients are clipped, unscaled or replaced")
        uses = self._begin_uses()
        self._settle()
        self._long(library.goss_sync_gradients)
        self._told.clear()
        self._has_gradients = True
        if uses is not None:
            uses[0].wait()
        if self.exchanges_gradients:
            _Tensor.show_gradients(self._tensors, None if uses is None else uses[1].tolist())

    def step(self) -> None:
        """Collective, after the update: parameters may change. Blocks only in steps in which an exchange must be applied."""
        self._begin_step()
        self._check_places()
        self._settle()
        self._long(library.goss_sync_step)
        self._is_begun = False
        self._has_gradients = False

    def finish(self) -> None:
        """Collective: applies what is in flight, and averages the parameters if they differ. Training may go on."""
        self._check_places()
        self._settle()
        self._long(library.goss_sync_finish)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within ``with sync.no_sync():`` gradients of backward passes stay on this rank: for all but the last one of a step."""
        before, self._is_holding = self._is_holding, True
        try:
            yield
        finally:
            self._is_holding = before

    # ---- State ----

    def state_dict(self) -> Dict[str, Any]:
        """Local, between steps: waits for exchanges in flight, then gives everything that is needed to go on with the same bits. Each
        rank's state is its own, and parameters are not in it."""
        memory, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._long(lambda handle: int(library.goss_sync_export(handle, memory, size)))
        return {"spec": self.spec, "rank": self._comm.rank, "ranks": self._comm.size, "bytes": take_bytes(memory, size.value)}

    def load_state_dict(self, state: Any) -> None:
        """Collective, between steps: goes on from what state_dict() gave on this rank, or from a list of those of all ranks of a
        run on another number of ranks. Parameters are the program's to load, before this."""
        self._destroy()
        self._create(state)

    @property
    def spec(self) -> str:
        """The spec with all parameters."""
        return self._spec

    @property
    def exchanges_gradients(self) -> bool:
        """Whether gradients() exchanges gradients; else they stay local."""
        return bool(self._info.gradients)

    @property
    def has_local_steps(self) -> bool:
        """Whether the ranks' parameters differ between exchanges."""
        return bool(self._info.local_steps)

    def counters(self) -> SyncCounters:
        """Running totals on this rank."""
        struct = _abi.goss_sync_counters()
        struct.size = ctypes.sizeof(struct)
        self._short(library.goss_sync_get_counters, struct)
        return SyncCounters(*(getattr(struct, name) for name in SyncCounters._fields))

    # ---- Its life ----

    def abort(self, reason: str = "no reason given") -> None:
        """Local, from any thread: pending and later calls fail on all ranks with Aborted and ``reason``."""
        if self._handle is not None:
            check(library.goss_sync_abort(self._handle, reason.encode()))

    def close(self) -> None:
        """Local: what is in flight fails, and all tensors are given back. The end of the process does it."""
        self._destroy()
        for hook in self._hooks:
            (hook[1] if isinstance(hook, tuple) else hook).remove()
        self._hooks.clear()
        if self._optimizer is not None and self._unwrapped is not None:
            self._optimizer.step, self._unwrapped = self._unwrapped, None
            del self._optimizer.gossamer_synchronizer
        if self._owns_comm and not self._comm.is_closed:
            self._comm._dependents.discard(self)
            self._comm.close()

    def __enter__(self) -> "Synchronizer":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    # ---- Inside ----

    def _create(self, state: Any) -> None:
        made = ctypes.c_void_p()
        self._comm._call_blocking(lambda comm: int(library.goss_sync_create(comm, self._given_spec.encode(), made)),
                                  lambda _: library.goss_sync_destroy(made))
        self._handle, self._is_closing = made.value, False
        self._info = _abi.goss_sync_info()
        self._info.size = ctypes.sizeof(self._info)
        self._short(library.goss_sync_get_info, self._info)
        self._spec = (self._info.spec or b"").decode()  # the text goes with the handle
        if self._given_loss is not None:
            self.set_loss(self._given_loss)
        try:
            if self._loses_marks():
                self._uses = self._comm.dup()
            self._lent = [self._register(tensor, layer) for tensor, layer in zip(self._tensors, self._layers)]
            self._settle()
            if state is not None:
                self._import([state] if isinstance(state, dict) else list(state))
            self._long(library.goss_sync_start)
        except BaseException:
            self._destroy()
            raise

    def _loses_marks(self) -> bool:
        """Whether the method exchanges gradients of torch in a form that does not keep -0.0 (_Tensor.read_gradient)."""
        method, _, parameters = self._spec.partition(":")
        is_exact = method == "ddp" and parameters.partition("codec=")[2] in _EXACT_CODECS
        return method in ("ddp", "ef21") and not is_exact and any(one.is_torch for one in self._tensors)

    def _begin_uses(self) -> Optional[Tuple[Any, Any]]:
        """The request, and the result, of a small exchange beside that of the gradients: which tensors some rank has a gradient for."""
        if self._uses is None:
            return None
        torch = sys.modules["torch"]
        used = torch.tensor([one.parameter.grad is not None for one in self._tensors if one.is_torch], dtype=torch.uint8)
        return self._uses.all_reduce(used, op="max", async_op=True), used

    def _check_places(self) -> None:
        """The library reads and writes the memory that a parameter had when it was registered."""
        for tensor, (lent, _) in zip(self._tensors, self._lent):
            if tensor.is_torch and tensor.parameter.data_ptr() != lent.address:
                raise InvalidArgument(f"parameter {tensor.name} has moved to other memory (p.data = ..., set_(), module.to()); copy into "
                                      "it by p.copy_(), or close the synchronizer and make another one")

    def _settle(self) -> None:
        """Waits for torch's current streams, because the library reads tensors on CUDA devices outside of streams."""
        for device in {tensor.parameter.device for tensor in self._tensors if tensor.is_on_device}:
            sys.modules["torch"].cuda.current_stream(device).synchronize()

    def _register(self, tensor: _Tensor, layer: int) -> Tuple[Any, ...]:
        """Registers the tensor, and returns the buffers that keep its memory alive."""
        role = f"parameter {tensor.name}"
        parameter = _buffers.writable(tensor.parameter, role)
        struct = _abi.goss_sync_tensor()
        check(library.goss_sync_tensor_init(struct, ctypes.sizeof(struct)))
        struct.name = tensor.name.encode()
        struct.parameter, struct.count, struct.dtype = parameter.address, parameter.elements, parameter.dtype
        struct.layer = layer
        gradient = None
        if self.exchanges_gradients:
            tensor.lend_gradient()
            role = f"the gradient of {tensor.name}"
            gradient = _buffers.writable(tensor.gradient, role)
            if gradient.elements != parameter.elements or gradient.dtype != parameter.dtype:
                raise InvalidArgument(f"the gradient of {tensor.name} has another size or type than the parameter")
            struct.gradient = gradient.address
        self._short(library.goss_sync_register, struct, None)
        return parameter, gradient

    def _import(self, states: List[Dict[str, Any]]) -> None:
        contents = [bytes(state["bytes"]) for state in states]
        if len(states) == 1 and states[0]["ranks"] == self._comm.size:
            if states[0]["rank"] != self._comm.rank:
                raise InvalidArgument(f"Synchronizer: the state is rank {states[0]['rank']}'s, and this is rank {self._comm.rank}; every "
                                      "rank saves and loads its own")
            self._short(library.goss_sync_import, contents[0], len(contents[0]))
            return
        texts = [ctypes.create_string_buffer(content, len(content)) for content in contents]
        places = (ctypes.c_void_p * len(texts))(*(ctypes.addressof(text) for text in texts))
        lengths = (ctypes.c_size_t * len(texts))(*map(len, contents))
        self._short(library.goss_sync_import_all, places, lengths, len(texts), None)

    def _hook_autograd(self) -> None:
        for index, tensor in enumerate(self._tensors):
            if tensor.is_torch:
                self._hooks.append(tensor.when_ready(functools.partial(_ready, weakref.ref(self), index)))

    def _tell(self, index: int) -> None:
        """Autograd has accumulated the gradient of a tensor."""
        if self._is_holding or self._handle is None or self._is_closing:
            return
        with self._in_tell:  # a backward pass may run in a thread for each device
            if index in self._told or self._has_gradients:
                raise InvalidArgument(f"the gradient of {self._tensors[index].name} was computed twice in a step and may be on its "
                                      "way already; put all backward passes of a step but the last into 'with sync.no_sync():', and end "
                                      "every step by step()")
            self._begin_step()
            self._tensors[index].read_gradient()
            self._tensors[index].part_with_gradient()
            self._settle()
            self._told.add(index)
            self.gradient_ready(index)

    def _begin_step(self) -> None:
        """Before the first exchange of a step the library learns the optimizer's rate, which a scheduler may have changed."""
        if self._optimizer is not None and not self._is_begun:
            self.set_lr(float(self._optimizer.param_groups[0]["lr"]))
        self._is_begun = True

    def _wrap(self, optimizer: Any) -> None:
        """Puts the exchanges around optimizer.step(). The optimizer then refers to the synchronizer: without it, its steps would
        change the parameters of this rank alone."""
        former = getattr(optimizer, "gossamer_synchronizer", None)
        if former is not None:
            if former._handle is not None:
                raise InvalidArgument("Synchronizer: the optimizer belongs to another synchronizer; close() that one before")
            former.close()
        original = optimizer.step

        @functools.wraps(original)
        def step(this: Any, closure: Any = None, **keywords: Any) -> Any:
            if closure is not None:
                raise Unsupported("Synchronizer: an optimizer that computes gradients itself (closure) cannot be synchronized; call "
                                  "backward() before step()")
            if self.exchanges_gradients and not self._has_gradients and getattr(this, "found_inf", None) is not None:
                raise InvalidArgument("GradScaler has looked for infinities in gradients that were not exchanged, and this optimizer would "
                                      "unscale them; call gradients() of the synchronizer before scaler.unscale_() and scaler.step()")
            self.gradients()
            result = original(**keywords)
            self.step()
            return result

        self._unwrapped = original
        optimizer.step = types.MethodType(step, optimizer)
        optimizer.gossamer_synchronizer = self

    def _open(self) -> int:
        if self._handle is None or self._is_closing:
            raise Aborted("the communicator of the synchronizer is gone, or it was closed; make another one (close() gives the optimizer "
                          "its own step() back)")
        return self._handle

    @contextlib.contextmanager
    def _alone(self) -> Iterator[int]:
        """Refuses a second thread while one uses the synchronizer."""
        if not self._in_call.acquire(blocking=False):
            raise InvalidArgument("another thread, or a call that Ctrl-C has left, is using the synchronizer; abort() ends it")
        try:
            yield self._open()
        finally:
            self._in_call.release()

    def _short(self, function: Callable[..., Any], *arguments: Any) -> None:
        """A call that does not wait for other ranks."""
        with self._alone() as handle:
            check(function(handle, *arguments), self._comm._handle)

    def _long(self, function: Callable[[int], Any]) -> None:
        """A call that may wait for other ranks, and goes on when Ctrl-C ends the wait."""

        def body() -> None:
            with self._alone() as handle:
                check(function(handle), self._comm._handle)

        _waiting.apart(body)

    def _destroy(self) -> None:
        """Where Ctrl-C ends the wait, or the call of another thread does not come back, the handle stays for another _destroy()."""
        handle = self._handle
        if handle is None:
            return
        self._is_closing = True
        if not self._in_call.acquire(blocking=False):  # another thread is in a call, which comes back with an error
            library.goss_sync_abort(handle, b"the synchronizer was closed")
            if not _waiting.poll(lambda: self._in_call.acquire(blocking=False), _LONGEST_CLOSE):
                return
        handle, self._handle = self._handle, None
        if handle is not None:  # else another thread has closed the synchronizer meanwhile
            library.goss_sync_destroy(handle)
        self._in_call.release()
        if self._uses is not None:
            self._uses.close()
            self._uses = None
        self._lent = []
        self._told.clear()
        self._is_begun = self._has_gradients = False

    __copy__ = __reduce__ = refuse_copy

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self._destroy()


def _ready(this: "weakref.ref[Synchronizer]", index: int) -> None:
    sync = this()
    if sync is not None:
        sync._tell(index)


_alive: "weakref.WeakSet[Synchronizer]" = weakref.WeakSet()


def _close_all() -> None:
    """Closes all synchronizers at the end of the process, before communicators are closed."""
    for sync in list(_alive):
        sync._destroy()


atexit.register(_close_all)
