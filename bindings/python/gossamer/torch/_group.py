"""The process group: torch.distributed's calls on a communicator."""

import itertools
import threading
import time
from typing import Any, Dict, List, Optional, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from .._buffers import DTYPES, writable
from .._comm import ANY_SOURCE, Comm
from .._errors import Bootstrap, Error, InvalidArgument, Timeout
from .._request import Request
from .._world import UniqueId, init
from ._older import DEVICES, HAS_BACKENDS, Backend, Group, OlderGroup
from ._reductions import average, reduction
from ._streams import COLLECTIVES, RECEIVES, SENDS, StreamPending, Streams, ordered
from ._work import Completer, Finish, GroupWork, Pending, Unstarted, seconds

Tensors = List[Tensor]

_BARRIER_TAG = 2**31 - 1
_FIRST_TENSOR = 1 << 62  # apart from those that the program numbers itself
_TYPES = frozenset(getattr(torch, name) for name in DTYPES if hasattr(torch, name))


def contiguous(tensor: Tensor) -> Tensor:
    """The tensor, or a contiguous copy of its values; sparse ones and devices other than CUDA's are refused."""
    if tensor.layout is not torch.strided:
        raise TypeError(f"backend gossamer has no sparse collectives ({tensor.layout}); give tensor.to_dense()")
    if tensor.device.type not in ("cpu", "cuda"):
        raise TypeError(f"the tensor is on device {tensor.device}; backend gossamer reads memory of the host and of CUDA devices: give tensor.cpu()")
    if tensor.is_contiguous() and not tensor.is_neg() and not tensor.is_conj():
        return tensor.detach() if tensor.requires_grad else tensor
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def check_written(tensor: Tensor) -> None:
    """Refuses a tensor that will be written and in which two elements share a place."""
    if not tensor.is_contiguous() and any(stride == 0 and length > 1 for stride, length in zip(tensor.stride(), tensor.shape)):
        raise InvalidArgument("elements of an output tensor share their memory, as after expand(); give tensor.clone()")


def written(tensor: Tensor) -> Tensor:
    """As contiguous(), for a tensor that will be written."""
    found = contiguous(tensor)
    check_written(tensor)
    return found


def check_list(call: str, tensors: Sequence[Tensor], length: int, like: Optional[Tensor] = None) -> None:
    """Refuses a list that does not have as many tensors as there must be, or not of the type of `like`."""
    if len(tensors) != length:
        raise InvalidArgument(f"{call}: {len(tensors)} tensors are given where {length} are needed")
    for one in tensors:
        if like is not None and one.dtype != like.dtype:
            raise TypeError(f"{call}: tensors of {one.dtype} and {like.dtype} are mixed; convert one of them")


def check_equal(call: str, tensors: Sequence[Tensor], length: int, like: Tensor) -> None:
    """As check_list(); also refuses tensors with another number of elements than `like`."""
    check_list(call, tensors, length, like)
    for one in tensors:
        if one.numel() != like.numel():
            raise InvalidArgument(f"{call}: a tensor of the list has {one.numel()} elements, this rank's {like.numel()}")


def split_counts(call: str, whole: Tensor, sizes: Sequence[int], ranks: int) -> List[int]:
    """Elements for each rank of a tensor that is split along dimension 0, by `sizes` or equally."""
    rows = whole.shape[0] if whole.dim() else 1
    if not sizes:
        if rows % ranks:
            raise InvalidArgument(f"{call}: dimension 0 has {rows} entries, which cannot be divided among {ranks} ranks")
        return [whole.numel() // ranks] * ranks
    if len(sizes) != ranks or min(sizes) < 0 or sum(sizes) != rows:
        raise InvalidArgument(f"{call}: split sizes {list(sizes)} must be {ranks}, one for each rank, and add up to {rows}, the entries "
                              "of dimension 0")
    return [size * (whole.numel() // rows if rows else 0) for size in sizes]


def room(like: Tensor, elements: int) -> Tensor:
    """A new vector of the type of another tensor, and where that is."""
    return torch.empty(elements, dtype=like.dtype, device=like.device)


def joined(parts: Sequence[Tensor]) -> Tensor:
    """The elements of all of them behind each other, by plain copies."""
    whole = room(parts[0], sum(part.numel() for part in parts))
    for place, part in zip(whole.split([part.numel() for part in parts]), parts):
        place.copy_(contiguous(part).reshape(-1))
    return whole


def as_moved(tensor: Tensor) -> Tensor:
    """A contiguous tensor as it may be sent: one of a type that Gossamer lacks as bytes."""
    return tensor if tensor.dtype in _TYPES else tensor.reshape(-1).view(torch.uint8)


def copies(pairs: Sequence[Any]) -> Finish:
    """Copies (to, from) where they are not the same memory, after the work."""
    left = [(to, source) for to, source in pairs
            if to is not source and (to.data_ptr() != source.data_ptr() or not to.is_contiguous())]

    def finish() -> None:
        for to, source in left:
            to.copy_(source.view(to.shape))

    return finish if left else None


def meet(store: Any, rank: int, size: int, timeout: Optional[float], settings: Dict[str, Any]) -> Comm:
    """The communicator of ranks that share a store of torch. Ranks that meet in it again use another key: each counts its own
    meetings there."""
    limits = {name: value for name, value in (("timeout", timeout), ("bootstrap_timeout", timeout)) if value}
    limits.update(settings)
    key = f"gossamer/{store.add(f'gossamer/meetings of {rank}', 1)}"
    if rank != 0:
        content = store.get(key)
        if content[:1] == b"!":
            raise Bootstrap(f"rank 0 could not begin: {content[1:].decode()}", 0)
        return init(rank, size, bytes(content), **limits)
    try:
        unique_id = UniqueId(**settings)
    except Error as error:
        store.set(key, b"!" + error.text.encode())
        raise
    store.set(key, bytes(unique_id))
    return init(rank, size, unique_id, **limits)


def part_of(comm: Comm, ranks: Sequence[int]) -> Optional[Comm]:
    """Collective. A communicator of some ranks, in their order; None on the others. Parts that are made at once do not overlap."""
    place = list(ranks).index(comm.rank) if comm.rank in ranks else -1
    return comm.split(min(ranks) if place >= 0 else -1, max(place, 0))


def _failed(missing: Sequence[int]) -> str:
    """The message of Gloo's monitored barrier, because programs search for it."""
    return f"Rank{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))} failed to pass monitoredBarrier"


class Defaults:
    """Defaults of calls without a timeout, shared by a group and the backend within it."""

    def __init__(self) -> None:
        self.timeout: Optional[float] = None


class Collectives:
    """The calls that both kinds of groups share. Tensors that are not contiguous go by a copy. CUDA tensors are used in streams of the
    group: these wait for torch's current stream, and a work's wait() makes the current stream wait for them."""

    _comm: Comm
    _completer: Completer
    _streams: Streams
    _defaults: Defaults
    settings: Dict[str, Any] = {}  # of Options

    def _begin(self, comm: Comm, lender: "Optional[Collectives]" = None) -> None:
        self._comm = comm
        self._completer = Completer(comm) if lender is None else lender._completer
        self._streams = Streams() if lender is None else lender._streams
        self._defaults = Defaults() if lender is None else lender._defaults
        self._barriers = itertools.count()
        self._numbers = itertools.count(_FIRST_TENSOR)  # tensor numbers for hooks
        self._coalesced = threading.local()  # what this thread has started since _start_coalescing()

    @property
    def comm(self) -> Comm:
        """The communicator below."""
        return self._comm

    def _work(self, requests: Sequence[Request], result: Any, finish: Finish = None) -> GroupWork:
        stream = self._streams.entered()
        if stream is None:
            pending = Pending(requests, result, finish)
        else:
            self._completer.look_after(requests)
            pending = StreamPending(requests, result, finish, self._streams, stream)
        if self._is_coalescing():
            self._coalesced.pending.append(pending)
        return GroupWork(self._completer, pending)

    def _is_coalescing(self) -> bool:
        return getattr(self._coalesced, "pending", None) is not None

    def _leave_batch(self) -> None:
        """Forgets the batch that this thread has begun and, because of an error, not ended."""
        for work, _ in getattr(self._coalesced, "receives", None) or ():
            self._completer.forget(work)
        self._coalesced.pending = self._coalesced.receives = None

    def _start_coalescing(self, device: Any = None) -> None:  # pylint: disable=unused-argument
        self._leave_batch()
        self._coalesced.pending, self._coalesced.receives = [], []

    def _end_coalescing(self, device: Any = None) -> GroupWork:  # pylint: disable=unused-argument
        """One work for all that this thread has started since _start_coalescing()."""
        started, receives = self._coalesced.pending, self._coalesced.receives
        if receives is None:
            raise InvalidArgument("gossamer: an error has ended this batch; begin another one")
        self._coalesced.receives = None
        try:
            while receives:
                work, arguments = receives[0]
                work.pending = self.recv(*arguments).pending
                del receives[0]
        finally:
            for work, _ in receives:
                self._completer.forget(work)
            self._coalesced.pending = None
        requests = [request for pending in started for request in pending.requests]
        in_streams = [pending for pending in started if isinstance(pending, StreamPending)]
        if in_streams and len(in_streams) == len(started):
            return GroupWork(self._completer, in_streams[0].joined(in_streams))

        def finish() -> None:
            for pending in started:
                pending.end()

        return GroupWork(self._completer, Pending(requests, [], finish))

    def _keywords(self, opts: Any) -> Dict[str, Any]:
        timeout = seconds(getattr(opts, "timeout", None)) or self._defaults.timeout
        return {"async_op": True} if timeout is None else {"async_op": True, "timeout": timeout}

    def _beside(self, got: Tensor, given: Tensor) -> Tensor:
        """Where a call receives: its output, or new memory where that shares some with the input and neither is this rank's block of the
        other. That may be so on some ranks only, and the communicator refuses it."""
        place, source = got.data_ptr(), given.data_ptr()
        size, given_size = got.numel() * got.element_size(), given.numel() * given.element_size()
        shares = place < source + given_size and source < place + size
        if not shares or abs(place - source) == self._comm.rank * min(size, given_size):
            return got
        return room(got, got.numel())

    def getBackendName(self) -> str:  # pylint: disable=invalid-name
        return "gossamer"

    # ---- Reductions ----

    @ordered(COLLECTIVES)
    def allreduce(self, tensors: Any, opts: Any = None) -> GroupWork:
        tensors = [tensors] if isinstance(tensors, Tensor) else tensors
        reduce_op = dist.ReduceOp.SUM if opts is None else opts.reduceOp
        given = [written(one) for one in tensors]
        reductions = [reduction(reduce_op, one.dtype, self._comm.size) for one in given]
        for one in given if len(given) > 1 else ():  # before the first of them starts
            writable(one)
        requests = [self._comm.all_reduce(one, **how, **self._keywords(opts)) for one, how in zip(given, reductions)]
        return self._work(requests, list(tensors), copies(list(zip(tensors, given))))

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> GroupWork:
        return self.allreduce(tensors, opts)

    @ordered(COLLECTIVES)
    def reduce(self, tensors: Tensors, opts: Any) -> GroupWork:
        root = opts.rootRank
        given = [written(one) if self._comm.rank == root else contiguous(one) for one in tensors]
        requests = [self._comm.reduce(one, None, root=root, **reduction(opts.reduceOp, one.dtype, self._comm.size), **self._keywords(opts)) for one in given]
        return self._work(requests, list(tensors), copies(list(zip(tensors, given))) if self._comm.rank == root else None)

    @ordered(COLLECTIVES)
    def _reduce_scatter_base(self, output: Tensor, tensor: Tensor, opts: Any, /, **options: Any) -> GroupWork:
        given = contiguous(tensor)
        got = self._beside(written(output), given)
        request = self._comm.reduce_scatter(given, got, **reduction(opts.reduceOp, given.dtype, self._comm.size), **self._keywords(opts), **options)
        return self._work([request], [output], copies([(output, got)]))

    @ordered(COLLECTIVES)
    def reduce_scatter(self, outputs: Tensors, inputs: Sequence[Tensors], opts: Any) -> GroupWork:
        requests, pairs = [], []
        check_list("reduce_scatter", outputs, len(inputs))
        for output, parts in zip(outputs, inputs):
            check_list("reduce_scatter", parts, self._comm.size, output)
            got = written(output)
            counts = [part.numel() for part in parts]
            whole = joined(parts)
            requests.append(self._comm.reduce_scatterv(whole, got, counts, **reduction(opts.reduceOp, whole.dtype, self._comm.size),
                                                       **self._keywords(opts)))
            pairs.append((output, got))
        return self._work(requests, list(outputs), copies(pairs))

    @ordered(COLLECTIVES)
    def reduce_scatter_tensor_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any) -> GroupWork:
        check_list("reduce_scatter", outputs, len(inputs))
        given = [contiguous(one) for one in inputs]
        got = [self._beside(written(output), one) for output, one in zip(outputs, given)]
        requests = [self._comm.reduce_scatter(one, place, **reduction(opts.reduceOp, one.dtype, self._comm.size), **self._keywords(opts))
                    for one, place in zip(given, got)]
        return self._work(requests, list(outputs), copies(list(zip(outputs, got))))

    @ordered(COLLECTIVES)
    def _average(self, buffer: Tensor, **options: Any) -> GroupWork:
        """Averages a contiguous tensor in place. The work's value is the buffer itself."""
        return self._work([self._comm.all_reduce(buffer, async_op=True, **average(buffer.dtype, self._comm.size), **options)], buffer)

    # ---- Moves ----

    @ordered(COLLECTIVES)
    def broadcast(self, tensors: Any, opts: Any) -> GroupWork:
        tensors = [tensors] if isinstance(tensors, Tensor) else tensors
        given = [contiguous(one) if self._comm.rank == opts.rootRank else written(one) for one in tensors]
        requests = [self._comm.broadcast(as_moved(one), opts.rootRank, **self._keywords(opts)) for one in given]
        is_root = self._comm.rank == opts.rootRank  # the root's tensors stay as they are
        return self._work(requests, list(tensors), None if is_root else copies(list(zip(tensors, given))))

    @ordered(COLLECTIVES)
    def _allgather_base(self, output: Tensor, tensor: Tensor, opts: Any = None, /, **options: Any) -> GroupWork:
        check_list("all_gather", [tensor], 1, output)
        given = contiguous(tensor)
        got = self._beside(written(output), given)
        request = self._comm.all_gather(as_moved(given), as_moved(got), **self._keywords(opts), **options)
        return self._work([request], [output], copies([(output, got)]))

    @ordered(COLLECTIVES)
    def allgather(self, outputs: Sequence[Tensors], tensors: Tensors, opts: Any = None) -> GroupWork:
        requests, pairs = [], []
        check_list("all_gather", tensors, len(outputs))
        for places, tensor in zip(outputs, tensors):
            check_list("all_gather", places, self._comm.size, tensor)
            for place in places:
                check_written(place)
            given = contiguous(tensor)
            counts = [place.numel() for place in places]
            whole = room(given, sum(counts))
            if len(set(counts)) == 1:
                request = self._comm.all_gather(as_moved(given), as_moved(whole), **self._keywords(opts))
            else:
                size = given.element_size() if given.dtype not in _TYPES else 1
                request = self._comm.all_gatherv(as_moved(given), as_moved(whole), [count * size for count in counts],
                                                 **self._keywords(opts))
            requests.append(request)
            pairs += list(zip(places, whole.split(counts)))
        return self._work(requests, outputs, copies(pairs))

    def allgather_coalesced(self, outputs: Sequence[Tensors], tensors: Tensors, opts: Any = None) -> GroupWork:
        """`outputs` has a list for each rank."""
        check_list("all_gather", outputs, self._comm.size)
        for each in outputs:
            check_list("all_gather", each, len(tensors))
        return self.allgather([list(each) for each in zip(*outputs)], tensors, opts)

    @ordered(COLLECTIVES)
    def allgather_into_tensor_coalesced(self, outputs: Tensors, tensors: Tensors, opts: Any = None) -> GroupWork:
        check_list("all_gather", outputs, len(tensors))
        for output, tensor in zip(outputs, tensors):
            check_list("all_gather", [tensor], 1, output)
        given = [contiguous(one) for one in tensors]
        got = [self._beside(written(output), one) for output, one in zip(outputs, given)]
        requests = [self._comm.all_gather(as_moved(one), as_moved(place), **self._keywords(opts)) for one, place in zip(given, got)]
        return self._work(requests, list(outputs), copies(list(zip(outputs, got))))

    @ordered(COLLECTIVES)
    def gather(self, outputs: Sequence[Tensors], tensors: Tensors, opts: Any) -> GroupWork:
        given = contiguous(tensors[0])
        if self._comm.rank != opts.rootRank:
            request = self._comm.gather(as_moved(given), None, opts.rootRank, **self._keywords(opts))
            return self._work([request], [])
        check_equal("gather", outputs[0], self._comm.size, given)
        for place in outputs[0]:
            check_written(place)
        whole = room(given, given.numel() * self._comm.size)
        request = self._comm.gather(as_moved(given), as_moved(whole), opts.rootRank, **self._keywords(opts))
        return self._work([request], outputs[0], copies(list(zip(outputs[0], whole.split([given.numel()] * self._comm.size)))))

    @ordered(COLLECTIVES)
    def scatter(self, outputs: Tensors, tensors: Sequence[Tensors], opts: Any) -> GroupWork:
        got = written(outputs[0])
        is_root = self._comm.rank == opts.rootRank
        if is_root:
            check_equal("scatter", tensors[0], self._comm.size, got)
        whole = joined(tensors[0]) if is_root else None
        request = self._comm.scatter(None if whole is None else as_moved(whole), as_moved(got), opts.rootRank,
                                     **self._keywords(opts))
        return self._work([request], list(outputs), copies([(outputs[0], got)]))

    @ordered(COLLECTIVES)
    def alltoall_base(self, output: Tensor, tensor: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int],
                      opts: Any = None) -> GroupWork:
        check_list("all_to_all", [tensor], 1, output)
        given, got = contiguous(tensor), written(output)
        unit = 1 if given.dtype in _TYPES else given.element_size()

        def counts(whole: Tensor, sizes: Sequence[int]) -> List[int]:
            return [count * unit for count in split_counts("all_to_all", whole, sizes, self._comm.size)]

        request = self._comm.all_to_allv(as_moved(given), as_moved(got), counts(given, input_sizes), counts(got, output_sizes),
                                         **self._keywords(opts))
        return self._work([request], [output], copies([(output, got)]))

    @ordered(COLLECTIVES)
    def alltoall(self, outputs: Tensors, tensors: Tensors, opts: Any = None) -> GroupWork:
        check_list("all_to_all", tensors, self._comm.size, tensors[0])
        check_list("all_to_all", outputs, self._comm.size, tensors[0])
        for place in outputs:
            check_written(place)
        given = joined(tensors)
        got = room(given, sum(one.numel() for one in outputs))
        unit = 1 if given.dtype in _TYPES else given.element_size()
        request = self._comm.all_to_allv(as_moved(given), as_moved(got), [one.numel() * unit for one in tensors],
                                         [one.numel() * unit for one in outputs], **self._keywords(opts))
        return self._work([request], list(outputs), copies(list(zip(outputs, got.split([one.numel() for one in outputs])))))

    # ---- Messages ----

    @ordered(SENDS)
    def send(self, tensors: Tensors, dst: int, tag: int = 0) -> GroupWork:
        return self._work([self._comm.send(as_moved(contiguous(tensors[0])), dst, tag, **self._keywords(None))], [])

    @ordered(RECEIVES, of_peer=True)
    def recv(self, tensors: Tensors, src: int, tag: int = 0) -> GroupWork:
        # Receives of a batch start behind its sends: where streams share one queue of the device, they would hold them up.
        if self._is_coalescing() and self._coalesced.receives is not None:
            work = GroupWork(self._completer, Unstarted(self._leave_batch))
            self._coalesced.receives.append((work, (tensors, src, tag)))
            return work
        got = written(tensors[0])
        request = self._comm.recv(as_moved(got), src, tag, **self._keywords(None))
        return self._work([request], list(tensors), copies([(tensors[0], got)]))

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> GroupWork:
        return self.recv(tensors, ANY_SOURCE, tag)

    # ---- Barriers ----

    def barrier(self, opts: Any = None) -> GroupWork:
        return self._work([self._comm.barrier(**self._keywords(opts))], [])

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """A barrier that names, in Gloo's words, the ranks which have not come within `timeout`, and leaves the group usable."""
        timeout = getattr(timeout, "timeout", timeout)  # newer torch gives BarrierOptions
        limit = self._comm._timeout or 300.0 if timeout is None or timeout.total_seconds() < 0 else timeout.total_seconds()
        number = next(self._barriers)
        if self._comm.rank != 0:
            self._reach(number, limit)
            return
        missing = self._missing(number, limit, wait_all_ranks)
        answer = torch.tensor([number] + [int(rank in missing) for rank in range(self._comm.size)])
        for rank in set(range(1, self._comm.size)) - set(missing):
            self._comm.send(answer, rank, _BARRIER_TAG)
        if missing:
            raise Timeout(f"Rank 0 timed out in monitoredBarrier after {1000 * limit:.0f} ms: {_failed(missing)}", missing[0])

    def _reach(self, number: int, limit: float) -> None:
        """Tells rank 0, and waits for its answer."""
        reached = f"Rank {self._comm.rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0"
        answer = torch.tensor([number] + [0] * self._comm.size)
        self._comm.send(answer[:1], 0, _BARRIER_TAG)
        try:
            self._comm.recv(answer, 0, _BARRIER_TAG, timeout=limit + 5)
        except Error as error:
            raise type(error)(f"{reached}: {error.text}", 0) from None
        missing = [rank for rank in range(self._comm.size) if answer[1 + rank]]
        if missing:
            raise Timeout(f"{reached}: {_failed(missing)}", missing[0])

    def _missing(self, number: int, limit: float, wait_all_ranks: bool) -> List[int]:
        deadline = time.monotonic() + limit
        missing: List[int] = []
        for rank in range(1, self._comm.size):
            token = torch.full((1,), -1, dtype=torch.int64)
            while token.item() != number and not (missing and not wait_all_ranks):
                try:
                    self._comm.recv(token, rank, _BARRIER_TAG, timeout=max(0.001, deadline - time.monotonic()))
                except Error:
                    break
            if token.item() != number and (wait_all_ranks or not missing):
                missing.append(rank)
        return missing

    # ---- Life ----

    def shutdown(self) -> None:
        if not self._comm.is_closed:
            self._completer.drain()
        self._comm._destroy()
        self._completer.close()

    def abort(self) -> None:
        if not self._comm.is_closed:
            self._comm.abort("torch.distributed aborted the group")

    def set_timeout(self, timeout: Any) -> None:
        """Sets the timeout of later calls that name none."""
        self._defaults.timeout = seconds(timeout)

    # Names of newer torch, and those that its C++ half looks for.
    start_coalescing = _start_coalescing
    end_coalescing = _end_coalescing
    all_gather_single = _allgather_base
    reduce_scatter_single = _reduce_scatter_base
    all_to_all_single = alltoall_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    recvAnysource = recv_anysource
    monitoredBarrier = monitored_barrier
    setTimeout = set_timeout


class GossamerGroup(Collectives, Group if HAS_BACKENDS else OlderGroup):  # type: ignore[misc]
    """A group of torch.distributed over Gossamer. Programs call its methods and get its works as they are; torch's C++ code, such as
    DistributedDataParallel's, calls them through the group, and what a group does not pass on through a backend within it."""

    def __init__(self, comm: Comm, store: Any = None) -> None:
        self._given_store = store
        if HAS_BACKENDS and store is not None:
            Group.__init__(self, store, comm.rank, comm.size)
        else:
            Group.__init__(self, comm.rank, comm.size)
        self._begin(comm)
        if HAS_BACKENDS:
            backend = GossamerBackend(comm, self)
            for device in DEVICES:
                self._register_backend(torch.device(device), Group.BackendType.CUSTOM, backend)
            self._set_default_backend(Group.BackendType.CUSTOM)

    def split_group(self, ranks: Sequence[int], timeout: Any = None, opts: Any = None, group_name: Optional[str] = None,
                    group_desc: Optional[str] = None, device_types: Any = None) -> "Optional[GossamerGroup]":
        """Collective, as torch.distributed.split_group() calls it: a group of some ranks, in their order; None on the others."""
        if opts is not None:
            raise InvalidArgument("split_group: a part has the settings of the whole group; give no pg_options")
        comm = part_of(self._comm, ranks)
        if comm is None:
            return None
        made = GossamerGroup(comm, dist.PrefixStore(f"{group_name}/", self._given_store))
        made.set_timeout(timeout)
        made._set_group_name(group_name or "")
        made._set_group_desc(group_desc or "")
        return made

    def __del__(self) -> None:
        if hasattr(self, "_completer"):
            self.shutdown()


class GossamerBackend(Collectives, Backend if HAS_BACKENDS else object):  # type: ignore[misc]
    """Gossamer as a backend of a group of torch: a group that has other backends beside, such as "cpu:gossamer,cuda:nccl", or a
    GossamerGroup, which lends its completer, streams and defaults. torch hands the program works of its own, whose is_completed() stays
    False."""

    def __init__(self, comm: Comm, lender: Optional[Collectives] = None) -> None:
        Backend.__init__(self, comm.rank, comm.size)
        self._begin(comm, lender)
        self._is_lent = lender is not None

    def __del__(self) -> None:
        if not getattr(self, "_is_lent", True):
            self.shutdown()

    # A group of several backends has torch's own calls for these, which want more of a backend than Python can give.
    @property
    def supports_splitting(self) -> bool:
        """Whether the group has split_group() of ours."""
        return self._is_lent

    @property
    def supports_coalescing(self) -> bool:
        """Whether the group has _start_coalescing() of ours."""
        return self._is_lent

    @property
    def options(self) -> Any:
        """torch asks for them before it splits a group of several backends itself."""
        raise InvalidArgument("split_group: a group of several backends, of which one is gossamer, cannot be split; call new_group()")

    def perform_nocolor_split(self, device: Any) -> None:
        """torch calls this on a rank outside of all new groups. Nothing is done: the groups connect without it."""
