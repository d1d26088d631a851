"""Communicators."""

import atexit
import collections
import contextlib
import ctypes
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence, Tuple

from . import _abi, _buffers, _waiting
from ._codec_state import CodecState
from ._counters import Counters
from ._errors import Aborted, Error, InvalidArgument, Timeout, check, error_of, last_error, refuse_copy
from ._library import library, take_json, take_text
from ._neighbors import NeighborCollectives
from ._options import OptionValue, int32, number_of, read
from ._request import Message, Operation, Request, Watch, groups

if TYPE_CHECKING:
    import asyncio

__all__ = ["ANY_SOURCE", "ANY_TAG", "Comm"]

ANY_SOURCE = _abi.GOSS_ANY_SOURCE
ANY_TAG = _abi.GOSS_ANY_TAG

_LONGEST_CLOSE = 10.0  # seconds that close() waits for calls of other threads, which come back at once
_LONGEST_INTERRUPTED_CLOSE = 1.0  # after Ctrl-C

Sizes = Optional[Sequence[int]]


class Comm(NeighborCollectives, CodecState):
    """A group of ranks with its own order of operations. ``gossamer.init()`` makes the first one, ``split`` others.

    **Calls.** All ranks make the same collective calls in the same order. Each call blocks until its result is in place and
    gives a completed Request. Keywords of every operation:

    - ``async_op=True``: only starts it; wait for the Request. The buffers are the library's until then.
    - ``persistent=True``: plans it and gives an inactive Request, to be started any number of times.
    - ``timeout``: seconds from the start; else the communicator's.
    - ``algorithm``: a name of ``goss-explain``, the same on all ranks; else the planner's choice.
    - ``codec``, ``return_codec``: compression of what travels, such as "int8:block=256+ef" (docs/compressors.md), the same on all
      ranks; ``tensor``: a number from 1 that names what is compressed, for codecs with feedback. float32, float16, bfloat16 only.
    - ``scale``: this rank's factor of op "premul_sum".

    **Buffers** are contiguous: tensors of torch, numpy arrays, anything with the buffer protocol, arrays of
    ``__array_interface__``, ``__cuda_array_interface__`` and DLPack; as_dtype() reads one as another type. Nothing is copied. A call on
    memory of a CUDA device is a part of a stream's work: of torch's current stream, of the one that ``__cuda_array_interface__`` names
    (None: the elements are ready), of the default stream with DLPack. Its Request completes when the stream has passed it. Types: int8, uint8, int32, uint32,
    int64, uint64, float16, bfloat16, float32, float64, float8_e4m3fn, float8_e5m2, bool.

    **op**: "sum", "prod", "min", "max", "avg", "premul_sum", "band", "bor", "bxor", "land", "lor", "lxor".

    **Errors** are exceptions (gossamer.Error and its kin). A wrong call raises InvalidArgument or TypeError, and nothing has
    happened. After a lost peer, a mismatch or a deadline the communicator refuses all further operations: close it, or shrink it.
    """

    def __init__(self, handle: int, timeout: Optional[float] = None) -> None:
        self._handle: Optional[int] = handle
        self._timeout = timeout  # seconds, for calls that name no timeout
        # Held during every call with the handle that does not block. Reentrant: handlers of signals and finalizers, which run
        # between two bytecodes of the thread that holds it, call abort() and _free().
        self._lock = threading.RLock()
        self._blocked = 0  # calls inside of the library that block
        self._pending: "set[Operation]" = set()
        self._dropped: "collections.deque[Operation]" = collections.deque()  # operations whose Request is gone
        self._is_telling = False  # goss_comm_event_fd was called
        self._watchers: "dict[asyncio.AbstractEventLoop, Watch]" = {}
        self._memory: "dict[int, Any]" = {}
        self._dependents: "weakref.WeakSet[Any]" = weakref.WeakSet()  # synchronizers and torch's futures, which close before
        rank, size = ctypes.c_int32(), ctypes.c_int32()
        check(library.goss_comm_rank(handle, rank))
        check(library.goss_comm_size(handle, size))
        self._rank, self._size = rank.value, size.value
        _alive.add(self)

    # ---- What it is ----

    @property
    def rank(self) -> int:
        """This process's rank, from 0."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._size

    @property
    def is_closed(self) -> bool:
        return self._handle is None

    def transport(self, peer: int) -> str:
        """Name of the transport that reaches ``peer``, such as "shm"; "self" for this rank."""
        name = ctypes.c_char_p()
        with self._lock:
            check(library.goss_comm_transport(self._open(), int32(peer, "rank"), name))
            return (name.value or b"").decode()

    @property
    def error(self) -> Optional[Error]:
        """Why the communicator refuses operations: its first failure, or None."""
        status, text, rank = ctypes.c_int(), ctypes.c_char_p(), ctypes.c_int32()
        with self._lock:
            check(library.goss_comm_error(self._open(), status, text))
            check(library.goss_comm_error_rank(self._open(), rank))
            return error_of(status.value, (text.value or b"").decode(), rank.value) if status.value else None

    def counters(self) -> Counters:
        """Running totals on this rank."""
        struct = _abi.goss_counters()
        struct.size = ctypes.sizeof(struct)
        with self._lock:
            check(library.goss_comm_counters(self._open(), struct))
        return Counters(*(getattr(struct, name) for name in Counters._fields))

    def __repr__(self) -> str:
        return f"<gossamer.Comm rank {self._rank} of {self._size}{', closed' if self.is_closed else ''}>"

    # ---- Its life ----

    def split(self, color: int, key: int = 0) -> "Optional[Comm]":
        """Collective. Ranks of one ``color`` form a communicator, ordered by (key, rank); color below 0: None, joins none."""
        color, key = int32(color, "color"), int32(key, "key")
        return self._make(lambda handle, made: int(library.goss_comm_split(handle, color, key, made)))

    def dup(self) -> "Comm":
        """Collective. The same ranks, with an order of operations of its own."""
        made = self._make(library.goss_comm_dup)
        assert made is not None
        return made

    def shrink(self, timeout: Optional[float] = None) -> "Comm":
        """Collective over the ranks that are left after others died or fell silent: a communicator of these, in the old order.

        This one fails, if it has not yet: close it. Waits up to ``timeout`` seconds for ranks that live. Raises Timeout, after
        which the call may be repeated, and PeerLost when the others have gone on without this rank.
        """
        options = read({"timeout": timeout}).struct
        made = self._make(lambda handle, place: int(library.goss_comm_shrink(handle, options, place)))
        assert made is not None
        return made

    def abort(self, reason: str = "no reason given") -> None:
        """Local. Every pending operation, here and on the other ranks, fails with Aborted and ``reason``."""
        with self._lock:
            check(library.goss_comm_abort(self._open(), reason.encode()))

    def close(self) -> None:
        """Local. Fails what is pending with Aborted and gives all buffers back; messages already handed over are delivered.

        A ``with`` block does it, and so does the end of the process. Closing twice is allowed. Refused while memory of
        allocate() is in use.
        """
        if self._memory:
            raise InvalidArgument(f"close: {len(self._memory)} buffers of allocate() are in use; drop them first")
        self._destroy()

    def _destroy(self) -> None:
        for dependent in list(self._dependents):
            dependent._destroy()
        with self._lock:
            handle, self._handle = self._handle, None
            is_used = self._is_used()
        if handle is None:
            return
        watchers = list(self._watchers.values())
        try:
            self._watchers.clear()
            for watcher in watchers:
                watcher.close()
            if is_used:  # other threads are in calls, which come back with an error
                library.goss_comm_abort(handle, b"the communicator was closed")
                try:
                    _waiting.poll(lambda: not self._is_used(), _LONGEST_CLOSE)
                except BaseException:  # Ctrl-C: they still use the handle for a moment
                    _waiting.poll(lambda: not self._is_used(), _LONGEST_INTERRUPTED_CLOSE)
                    raise
        finally:  # nobody else has the handle
            library.goss_comm_destroy(handle)
            error = Aborted("the communicator was closed while the operation was pending")
            for operation in list(self._pending):
                operation.abandon(error)
            self._pending.clear()
            self._dropped.clear()
            for watcher in watchers:
                if not watcher.is_empty() and not watcher.loop.is_closed():
                    watcher.loop.call_soon_threadsafe(watcher.collect)

    def _is_used(self) -> bool:
        """Whether other threads block inside of the library."""
        me = threading.get_ident()
        return self._blocked > 0 or any(operation.waiter not in (0, me) for operation in list(self._pending))

    def __enter__(self) -> "Comm":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None and self._memory:  # the exception's frames use it; when they are gone, so is the communicator
            with contextlib.suppress(Error):
                self.abort(f"the block of the communicator was left by {kind.__name__}")
            return
        self.close()

    __copy__ = __reduce__ = refuse_copy

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and os is not None:
            self._destroy()

    # ---- Collectives ----

    def all_reduce(self, send: Any, recv: Any = None, op: str = "sum", **options: OptionValue) -> Request:
        """recv[i] = op over all ranks of send[i], the same bits on all ranks. ``recv`` None: in place."""
        source, target = self._pair(send, recv)
        return self._start("goss_all_reduce", (source, target),
                           (source.address, target.address, source.elements, source.dtype, number_of(op)), options)

    def reduce(self, send: Any, recv: Any = None, op: str = "sum", root: int = 0, **options: OptionValue) -> Request:
        """As all_reduce, but only ``root`` receives; ``recv`` is not read elsewhere. ``recv`` None: in place at the root."""
        if self._rank == root:
            source, target = self._pair(send, recv)
        else:
            source = target = _buffers.readable(send)
        return self._start("goss_reduce", (source, target),
                           (source.address, target.address, source.elements, source.dtype, number_of(op), int32(root, "root")), options)

    def broadcast(self, buffer: Any, root: int = 0, **options: OptionValue) -> Request:
        """``buffer`` of ``root`` is copied to ``buffer`` of all ranks. The root's may be read-only."""
        one = _buffers.readable(buffer) if self._rank == root else _buffers.writable(buffer)
        return self._start("goss_broadcast", (one,), (one.address, one.address, one.elements, one.dtype, int32(root, "root")),
                           options)

    def all_gather(self, send: Any, recv: Any, **options: OptionValue) -> Request:
        """recv = the ranks' ``send`` in rank order: ranks x len(send) elements. ``send`` None, or this rank's part of ``recv``:
        in place."""
        target = _buffers.writable(recv)
        source = self._block(target) if send is None else _buffers.readable(send)
        self._check_pair(source, target, target.elements == source.elements * self._size,
                         f"recv must have {self._size} times as many elements as send",
                         source.address == self._offset(target, source))
        return self._start("goss_all_gather", (source, target), (source.address, target.address, source.elements, source.dtype),
                           options)

    def all_gatherv(self, send: Any, recv: Any, counts: Sequence[int], displs: Sizes = None, **options: OptionValue) -> Request:
        """As all_gather with counts[r] elements of rank r at element displs[r] of ``recv`` (None: packed in rank order). Both
        are the same on all ranks."""
        source, target = _buffers.readable(send), _buffers.writable(recv)
        shape = self._shape(counts, displs, target, "recv")
        place = shape[1][self._rank] * target.itemsize
        self._check_pair(source, target, source.elements == counts[self._rank],
                         f"send must have counts[{self._rank}] = {counts[self._rank]} elements",
                         source.address == target.address + place)
        return self._start("goss_all_gatherv", (source, target),
                           (source.address, target.address, *self._sizes(counts, displs), source.dtype), options)

    def reduce_scatter(self, send: Any, recv: Any = None, op: str = "sum", **options: OptionValue) -> Request:
        """recv = block ``rank`` of the reduction of ``send``, which has ranks x len(recv) elements. ``recv`` None, or this
        rank's part of ``send``: in place."""
        source = _buffers.readable(send) if recv is not None else _buffers.writable(send, "the buffer")
        target = self._block(source) if recv is None else _buffers.writable(recv)
        self._check_pair(source, target, source.elements == target.elements * self._size,
                         f"send must have {self._size} times as many elements as recv",
                         target.address == self._offset(source, target))
        return self._start("goss_reduce_scatter", (source, target),
                           (source.address, target.address, target.elements, source.dtype, number_of(op)), options)

    def reduce_scatterv(self, send: Any, recv: Any, counts: Sequence[int], op: str = "sum", **options: OptionValue) -> Request:
        """As reduce_scatter with counts[r] elements for rank r, packed in rank order in ``send``."""
        source, target = _buffers.readable(send), _buffers.writable(recv)
        shape = self._shape(counts, None, source, "send")
        place = shape[1][self._rank] * source.itemsize
        self._check_pair(source, target, target.elements == counts[self._rank],
                         f"recv must have counts[{self._rank}] = {counts[self._rank]} elements",
                         target.address == source.address + place)
        return self._start("goss_reduce_scatterv", (source, target),
                           (source.address, target.address, self._sizes(counts, None)[0], source.dtype, number_of(op)), options)

    def all_to_all(self, send: Any, recv: Any = None, **options: OptionValue) -> Request:
        """Block j of ``send`` goes to rank j, and lands there as block ``rank`` of ``recv``. ``recv`` None: in place."""
        source, target = self._pair(send, recv)
        if source.elements % self._size:
            raise InvalidArgument(f"all_to_all: {source.elements} elements are no whole number of blocks for {self._size} ranks")
        return self._start("goss_all_to_all", (source, target),
                           (source.address, target.address, source.elements // self._size, source.dtype), options)

    def all_to_allv(self, send: Any, recv: Any, send_counts: Sequence[int], recv_counts: Sequence[int], send_displs: Sizes = None,
                    recv_displs: Sizes = None, **options: OptionValue) -> Request:
        """As all_to_all with send_counts[j] elements from element send_displs[j] for rank j, and recv_counts[i] at
        recv_displs[i] from rank i (None: packed in rank order). Not in place."""
        source, target = _buffers.readable(send), _buffers.writable(recv)
        self._shape(send_counts, send_displs, source, "send")
        self._shape(recv_counts, recv_displs, target, "recv")
        self._check_pair(source, target, True, "")
        return self._start("goss_all_to_allv", (source, target),
                           (source.address, *self._sizes(send_counts, send_displs), target.address,
                            *self._sizes(recv_counts, recv_displs), source.dtype), options)

    def gather(self, send: Any, recv: Any = None, root: int = 0, **options: OptionValue) -> Request:
        """recv on ``root`` = the ranks' ``send`` in rank order; ``recv`` is not read elsewhere. ``send`` None, or the root's
        part of ``recv``: in place at the root."""
        if self._rank == root:
            target = _buffers.writable(recv)
            source = self._block(target) if send is None else _buffers.readable(send)
            self._check_pair(source, target, target.elements == source.elements * self._size,
                             f"recv must have {self._size} times as many elements as send",
                             source.address == self._offset(target, source))
        else:
            source = target = _buffers.readable(send)
        return self._start("goss_gather", (source, target),
                           (source.address, target.address, source.elements, source.dtype, int32(root, "root")), options)

    def scatter(self, send: Any, recv: Any = None, root: int = 0, **options: OptionValue) -> Request:
        """recv = block ``rank`` of the root's ``send``, which is not read elsewhere. ``recv`` None, or the root's part of
        ``send``: in place at the root."""
        if self._rank == root:
            source = _buffers.readable(send)
            target = self._block(source) if recv is None else _buffers.writable(recv)
            self._check_pair(source, target, source.elements == target.elements * self._size,
                             f"send must have {self._size} times as many elements as recv",
                             target.address == self._offset(source, target))
        else:
            source = target = _buffers.writable(recv)
        return self._start("goss_scatter", (source, target),
                           (source.address, target.address, target.elements, source.dtype, int32(root, "root")), options)

    def scan(self, send: Any, recv: Any = None, op: str = "sum", **options: OptionValue) -> Request:
        """recv[i] = op over ranks 0 to ``rank`` of send[i]. ``recv`` None: in place. "avg" is refused."""
        source, target = self._pair(send, recv)
        return self._start("goss_scan", (source, target), (source.address, target.address, source.elements, source.dtype, number_of(op)),
                           options)

    def exscan(self, send: Any, recv: Any = None, op: str = "sum", **options: OptionValue) -> Request:
        """recv[i] = op over ranks 0 to ``rank`` - 1 of send[i]; rank 0's ``recv`` stays as it was. ``recv`` None: in place."""
        source, target = self._pair(send, recv)
        return self._start("goss_exscan", (source, target),
                           (source.address, target.address, source.elements, source.dtype, number_of(op)), options)

    def barrier(self, **options: OptionValue) -> Request:
        """Completes when all ranks have called it. At the deadline the error names all that have not."""
        return self._start("goss_barrier", (), (), options)

    # ---- Messages ----

    def send(self, buffer: Any, dest: int, tag: int = 0, **options: OptionValue) -> Request:
        """Sends ``buffer`` to rank ``dest``. May complete before it is received."""
        one = _buffers.readable(buffer)
        return self._start("goss_send", (one,), (one.address, one.elements, one.dtype, int32(dest, "rank"), int32(tag, "tag")),
                           options)

    def recv(self, buffer: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, **options: OptionValue) -> Request:
        """Receives up to len(buffer) elements; ``request.message`` tells source, tag and length. Raises Truncated for a longer
        message, which is dropped."""
        one = _buffers.writable(buffer)
        return self._start("goss_recv", (one,), (one.address, one.elements, one.dtype, int32(source, "rank"), int32(tag, "tag")),
                           options)

    def sendrecv(self, send: Any, dest: int, recv: Any, source: int = ANY_SOURCE, tag: int = 0,
                 **options: OptionValue) -> Optional[Message]:
        """Sends and receives at the same time; cannot deadlock in a ring. Gives what was received."""
        if options.pop("persistent", False):
            raise InvalidArgument("sendrecv cannot be persistent; make a persistent send and a persistent recv")
        options["async_op"] = True
        # A receive cannot be taken back, so everything that would refuse the send is checked before.
        one = _buffers.readable(send)
        if one.stream is not None:
            raise InvalidArgument("sendrecv: buffers of a CUDA stream go by send() and then recv() within a group(), so that the "
                                  "stream comes to the send before it waits for the receive")
        if not 0 <= dest < self._size or int32(tag, "tag") < 0:
            raise InvalidArgument(f"sendrecv: rank {dest} or tag {tag} is none that may be sent to; ranks are 0 to {self._size - 1}, "
                                  "tags from 0")
        receiving = self.recv(recv, source, tag, **options)
        sending = self._start("goss_send", (one,), (one.address, one.elements, one.dtype, dest, tag), options)
        sending.wait()
        return receiving.wait()

    def probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, timeout: Optional[float] = None) -> Message:
        """Waits until a message is there that recv() with these arguments would receive, and leaves it there."""
        found: "list[Message]" = []

        def look() -> bool:
            message = self.iprobe(source, tag)
            if message is not None:
                found.append(message)
            return message is not None

        limit = self._timeout if timeout is None else timeout
        if not _waiting.poll(look, limit):
            raise Timeout(f"probe: no message from {'any rank' if source < 0 else f'rank {source}'} came within {limit} s",
                          source if source >= 0 else None)
        return found[0]

    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Optional[Message]:
        """As probe() without waiting: None when there is no such message."""
        found, message = ctypes.c_int(), _abi.goss_message()
        source, tag = int32(source, "rank"), int32(tag, "tag")
        with self._lock:
            check(library.goss_iprobe(self._open(), source, tag, found, message), self._handle)
        return Message(message.source, message.tag, message.bytes) if found.value else None

    # ---- Memory, links ----

    def allocate(self, nbytes: int) -> memoryview:
        """Memory that the ranks of this host map, so that messages in it are read in place. ``numpy.frombuffer(it, dtype)`` makes
        an array of it. It is freed when nothing refers to it; until then the communicator cannot be closed."""
        address = ctypes.c_void_p()
        with self._lock:
            check(library.goss_mem_alloc(self._open(), nbytes, address))
        assert address.value is not None
        memory = (ctypes.c_char * nbytes).from_address(address.value)
        self._memory[address.value] = weakref.finalize(memory, self._free, address.value)
        self._memory[address.value].atexit = False  # the end of the process does it
        return memoryview(memory).cast("B")

    def _free(self, address: int) -> None:
        with self._lock:
            if self._handle is not None:
                library.goss_mem_free(self._handle, address)
        self._memory.pop(address, None)

    def measure_links(self, timeout: Optional[float] = None) -> str:
        """Collective. Measures the links between all ranks for the planner; gives the text of a link file (docs/formats.md)."""
        text = ctypes.c_char_p()
        struct = read({"timeout": timeout}).struct
        self._call_blocking(lambda handle: int(library.goss_comm_measure_links(handle, struct, text)))
        return take_text(text)

    def trials(self) -> Dict[str, Any]:
        """Local: which plans of large all-reduces over wide-area links were compared, as goss_comm_trials() of links.h says."""
        text = ctypes.c_char_p()
        with self._lock:
            check(library.goss_comm_trials(self._open(), text))
        return take_json(text)  # type: ignore[no-any-return]

    # ---- Inside ----

    def _open(self) -> int:
        self._check_open()
        assert self._handle is not None
        return self._handle

    def _check_open(self) -> None:
        if self._handle is None:
            raise Aborted("the communicator is closed; make another one")

    def _start(self, function: str, buffers: Tuple[_buffers.Buffer, ...], arguments: Tuple[Any, ...],
               keywords: "dict[str, Any]") -> Request:
        options = read(keywords, _buffers.stream_of(buffers))
        operation = Operation(self, (buffers, options.struct), options.is_persistent)
        request = Request(operation)
        call = getattr(library, function)
        with self._lock:
            self._check_open()
            swept = self._sweep() if self._dropped else None
            self._pending.add(operation)
            operation.is_told = self._is_telling
            status = call(self._handle, *arguments, options.struct, operation.handle)
            if status:
                self._pending.discard(operation)
                raise last_error(status, self._handle)
        del swept  # outside of the lock: buffers run finalizers
        if options.is_async or options.is_persistent:
            return request
        if groups.depth:
            groups.started.append(request)
        else:
            request.wait()
        return request

    def _sweep(self) -> "list[Operation]":
        """Frees complete operations whose Request was dropped, and returns them. The caller holds the lock."""
        swept = []
        for _ in range(len(self._dropped)):
            operation = self._dropped.popleft()
            if not operation.is_done:
                library.goss_test(operation.handle, operation.flag, None)
                operation.is_done = bool(operation.flag.value)
            if operation.is_done and operation.is_persistent:
                library.goss_request_free(operation.handle)
            if operation.is_done:
                self._pending.discard(operation)
                swept.append(operation)
            else:
                self._dropped.append(operation)
        return swept

    def _call_blocking(self, call: Callable[[int], int], discard: Optional[Callable[[int], Any]] = None) -> None:
        """Makes a call that waits for other ranks, so that Ctrl-C ends the wait and close() does not pull it away."""
        with self._lock:
            handle = self._open()
            self._blocked += 1

        def body() -> int:
            try:
                check(call(handle), handle)
                return 0
            finally:
                with self._lock:
                    self._blocked -= 1

        _waiting.apart(body, discard)

    def _make(self, call: Callable[[int, ctypes.c_void_p], int]) -> "Optional[Comm]":
        made = ctypes.c_void_p()
        self._call_blocking(lambda handle: call(handle, made), lambda _: library.goss_comm_destroy(made))
        return Comm(made.value, self._timeout) if made.value else None

    def _pair(self, send: Any, recv: Any) -> Tuple[_buffers.Buffer, _buffers.Buffer]:
        """Buffers of the same number of elements; `recv` None: in place."""
        if recv is None:
            both = _buffers.writable(send, "the buffer")
            return both, both
        source, target = _buffers.readable(send), _buffers.writable(recv)
        self._check_pair(source, target, source.elements == target.elements, "both must have the same number",
                         source.address == target.address)
        return source, target

    def _block(self, whole: _buffers.Buffer) -> _buffers.Buffer:
        """This rank's block of a vector of one block a rank."""
        count = whole.elements // self._size
        return whole._replace(address=whole.address + self._rank * count * whole.itemsize, elements=count)

    def _offset(self, whole: _buffers.Buffer, part: _buffers.Buffer) -> int:
        """Where this rank's part of `whole` begins."""
        return whole.address + self._rank * part.elements * part.itemsize

    @staticmethod
    def _check_pair(source: _buffers.Buffer, target: _buffers.Buffer, fits: bool, rule: str, is_in_place: bool = False) -> None:
        """Refuses two buffers of different types, of wrong sizes, or that overlap in a call that is not in place."""
        if source.dtype != target.dtype:
            raise TypeError(f"the send buffer has elements of type {_buffers.NAMES[source.dtype]}, the receive buffer of type "
                            f"{_buffers.NAMES[target.dtype]}; convert one of them")
        if not fits:
            raise InvalidArgument(f"the send buffer has {source.elements} elements, the receive buffer {target.elements}; {rule}")
        is_apart = source.address + source.nbytes <= target.address or target.address + target.nbytes <= source.address
        if source.elements and target.elements and not is_apart and not is_in_place:
            raise InvalidArgument("the send and the receive buffer overlap, and not as a call in place may; copy one of them")

    def _shape(self, counts: Sequence[int], displs: Sizes, whole: _buffers.Buffer,
               role: str) -> Tuple[Sequence[int], Sequence[int]]:
        """Checks that blocks lie in `whole`; gives counts and displacements."""
        counts = list(counts)
        if len(counts) != self._size or (displs is not None and len(displs) != self._size):
            raise InvalidArgument(f"counts and displs of {role} need {self._size} numbers, one for each rank")
        if displs is None:
            displs = [sum(counts[:rank]) for rank in range(self._size)]
        end = max(place + count for place, count in zip(displs, counts))
        if min(counts) < 0 or min(displs) < 0 or end > whole.elements:
            raise InvalidArgument(f"blocks of {role} lie from element {min(displs)} to {end}, but it has {whole.elements} elements")
        return counts, displs

    def _sizes(self, counts: Sequence[int], displs: Sizes) -> Tuple[Any, Any]:
        return _buffers.sizes(counts, self._size, "counts"), _buffers.sizes(displs, self._size, "displs")

    def _told(self) -> int:
        """The descriptor that becomes readable when an operation completes that starts from now on."""
        descriptor = ctypes.c_int()
        with self._lock:
            check(library.goss_comm_event_fd(self._open(), descriptor))
            self._is_telling = True
        return descriptor.value


_alive: "weakref.WeakSet[Comm]" = weakref.WeakSet()


def _close_all() -> None:
    """At the end of the process: tells the other ranks, and takes back every buffer before memory goes."""
    for comm in list(_alive):
        comm._destroy()


def _in_child() -> None:
    """After fork(): locks may be held by threads that do not exist here. The library refuses the communicators by itself."""
    for comm in list(_alive):
        comm._lock = threading.RLock()
        comm._blocked = 0
        for operation in comm._pending:
            operation.waiter = 0
        comm._watchers.clear()  # an event loop's descriptors are the parent's too: taking one out would end its watch there


atexit.register(_close_all)
os.register_at_fork(after_in_child=_in_child)
