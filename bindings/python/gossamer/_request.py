"""Started operations."""

import ctypes
import math
import threading
import time
from typing import TYPE_CHECKING, Any, Generator, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from . import _abi, _waiting
from ._errors import Aborted, Error, InvalidArgument, Timeout, check, last_error
from ._library import library

if TYPE_CHECKING:
    import asyncio

    from ._comm import Comm

__all__ = ["Message", "Request", "wait_all", "wait_any", "group"]


class Message(NamedTuple):
    """What a receive got."""

    source: int  #: rank of the sender
    tag: int
    nbytes: int  #: actual length, at most that of the receive buffer


_UNWRITTEN = -2  # source of a message before the library has written it
_SLICE = 0.05  # seconds that a thread blocks in the library before Python may run handlers of signals
_PAUSE = 0.001


class Operation:
    """What is lent to the library until it completes: the place of its handle, and the buffers.

    Its communicator keeps it from the moment it is made until it is complete, whatever becomes of the Request.
    """

    __slots__ = ("comm", "handle", "flag", "message", "keep", "is_done", "error", "is_persistent", "is_told", "waiter")

    def __init__(self, comm: "Comm", keep: Tuple[Any, ...], is_persistent: bool) -> None:
        self.comm = comm
        self.handle = ctypes.c_void_p()
        self.flag = ctypes.c_int()
        self.message = _abi.goss_message(_UNWRITTEN)
        self.keep: Tuple[Any, ...] = keep
        self.is_done = is_persistent
        self.error: Optional[Error] = None
        self.is_persistent = is_persistent
        self.is_told = False  # whether the descriptor of goss_comm_event_fd tells of it
        self.waiter = 0  # the thread that blocks in the library until it is complete

    def test(self) -> bool:
        """Whether the operation is complete; never blocks."""
        if self.is_done:
            return True
        keep = self.keep  # dropped outside of the lock: buffers run finalizers
        with self.comm._lock:
            if self.is_done or self.comm.is_closed:  # close() is about to abandon it
                return self.is_done
            if self.waiter not in (0, threading.get_ident()):  # that thread completes it
                return False
            if self.flag.value:
                self._complete(self._lost_error())
                return True
            status = library.goss_test(self.handle, self.flag, self.message)
            if self.is_done:  # a signal handler has closed the communicator
                return True
            if self.flag.value:
                self._complete(last_error(status, self.comm._handle) if status else None)
            else:
                check(status)
            return self.is_done

    def wait(self, limit: Optional[float] = None) -> bool:
        """Blocks until the operation is complete, for `limit` seconds at most; whether it is. Between two calls of the library Python
        runs the handlers of signals, so Ctrl-C raises KeyboardInterrupt here."""
        deadline = None if limit is None else time.monotonic() + limit
        while not self.test():
            longest = _SLICE
            if deadline is not None:
                longest = min(longest, deadline - time.monotonic())
                if longest <= 0:
                    return False
            if not self._block(longest):
                time.sleep(min(longest, _PAUSE))
        return True

    def _block(self, longest: float) -> bool:
        """Waits in the library for up to `longest` seconds; False: another thread does, or the communicator is about to close.

        Code of this thread that runs while it is the waiter, which only a handler of a signal does, finds the library not entered yet
        or left already."""
        me = threading.get_ident()
        keep = self.keep  # dropped outside of the lock: buffers run finalizers
        try:
            with self.comm._lock:
                if self.waiter or self.is_done or self.comm.is_closed:
                    return self.is_done
                self.waiter = me
            status = library.goss_wait_for(self.handle, math.ceil(1000 * longest), self.flag, self.message)
            with self.comm._lock:
                if self.flag.value and not self.is_done:
                    self._complete(last_error(status, self.comm._handle) if status else None)
                elif status and not self.is_done:
                    raise last_error(status, self.comm._handle)
        finally:
            if self.waiter == me:
                self.waiter = 0
        del keep
        return True

    def _lost_error(self) -> Optional[Error]:
        """The error of an operation that goss_test has completed when an exception of a signal handler took its status away."""
        if self.message.source != _UNWRITTEN:  # written where the operation has succeeded
            return None
        return self.comm.error or Aborted("the operation failed, and the exception of a signal handler took the reason away")

    def _complete(self, error: Optional[Error]) -> None:
        self.error = error
        self.is_done = True
        if not self.is_persistent:
            self.keep = ()
            self.comm._pending.discard(self)

    def abandon(self, error: Error) -> None:
        """Ends the operation when its communicator is gone and has given the buffers back."""
        if not self.is_done:
            self.error = error
        self.is_done = True
        self.handle.value = None  # in place, because a thread that was interrupted while testing it holds the object
        self.keep = ()


class Request:
    """An operation that was started, or has completed already. wait(), test() and ``await`` complete it.

    The buffers belong to the library until then: do not touch them. They are kept alive, also when the Request is dropped.
    """

    __slots__ = ("_operation", "__weakref__")

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def wait(self, timeout: Optional[float] = None) -> Optional[Message]:
        """Blocks until the operation is complete; gives what a receive got, None for others.

        Raises the operation's error, each time. ``timeout``: seconds after which Timeout is raised and the operation goes on.
        Ctrl-C raises KeyboardInterrupt, and the operation goes on.
        """
        if not self._operation.wait(timeout):
            raise Timeout(f"the operation is not complete after {timeout} s; it goes on")
        return self._result()

    def test(self) -> bool:
        """Whether the operation is complete. Raises its error. Never blocks; the library makes progress in it."""
        if not self._operation.test():
            return False
        self._result()
        return True

    @property
    def message(self) -> Optional[Message]:
        """What a receive got, once it is complete."""
        return self._result() if self._operation.is_done else None

    def exception(self) -> Optional[Error]:
        """The error of the operation, None while it is pending and after success. Never raises it."""
        self._operation.test()
        return self._operation.error

    def _result(self) -> Optional[Message]:
        operation = self._operation
        if operation.error is not None:
            raise operation.error
        got = operation.message
        return Message(got.source, got.tag, got.bytes) if operation.flag.value and got.source >= 0 else None

    def __del__(self) -> None:
        operation = self._operation
        if operation.handle:
            operation.comm._dropped.append(operation)

    def start(self) -> "Request":
        """Starts a persistent operation (``persistent=True``), which is inactive: new, or waited for since."""
        operation = self._operation
        if not operation.is_persistent:
            raise InvalidArgument("start: the request is not persistent; give the call persistent=True")
        with operation.comm._lock:
            operation.comm._check_open()
            if not operation.is_done:
                raise InvalidArgument("start: the operation is still active; wait for it first")
            operation.flag.value = 0
            operation.message.source = _UNWRITTEN
            operation.is_told = operation.comm._is_telling
            operation.error = None
            operation.is_done = False
            status = library.goss_start(operation.handle)
            if status:
                operation.is_done = True
                raise last_error(status, operation.comm._handle)
        return self

    def free(self) -> None:
        """Frees a persistent request that is inactive, and gives its buffers back. Others are freed by completing."""
        operation = self._operation
        with operation.comm._lock:
            if operation.is_persistent and operation.handle and not operation.comm.is_closed:
                if operation.waiter not in (0, threading.get_ident()):  # it is about to use what would be freed
                    raise InvalidArgument("free: another thread waits for the request; let it come back first")
                check(library.goss_request_free(operation.handle))
                operation.comm._pending.discard(operation)
                operation.keep = ()

    def __await__(self) -> Generator[Any, None, Optional[Message]]:
        import asyncio  # pylint: disable=import-outside-toplevel,redefined-outer-name

        operation = self._operation
        if not operation.test():
            yield from Watch.of(operation.comm, asyncio.get_running_loop()).completion(operation)
        return self._result()


class Watch:
    """Completes operations in an event loop of asyncio, by the descriptor of goss_comm_event_fd. The descriptor is
    readable only until a thread has collected the completed operation. If another thread collects it, this loop may
    never see the descriptor readable, so a timer tests the operations, too."""

    _PAUSE = 0.001
    _TICK = 0.05

    def __init__(self, comm: "Comm", loop: "asyncio.AbstractEventLoop") -> None:
        self._comm = comm
        self.loop = loop
        self._descriptor = comm._told()
        self._waiting: List[Tuple[Operation, "asyncio.Future[None]"]] = []
        self._is_ticking = False

    @classmethod
    def of(cls, comm: "Comm", loop: "asyncio.AbstractEventLoop") -> "Watch":
        """That of a communicator in a loop. Forgets those of closed loops."""
        watchers = comm._watchers
        if loop not in watchers:
            for closed in [other for other in list(watchers) if other.is_closed()]:
                watchers.pop(closed, None)
            watchers[loop] = cls(comm, loop)
        return watchers[loop]

    def completion(self, operation: Operation) -> "asyncio.Future[None]":
        """A future that is done when the operation is. Cancelling it leaves the operation alone."""
        future: "asyncio.Future[None]" = self.loop.create_future()
        self._waiting.append((operation, future))
        if operation.is_told:
            self._read()
            if not self._is_ticking:
                self._is_ticking = True
                self.loop.call_later(self._TICK, self._tick)
        else:
            self.loop.call_later(self._PAUSE, self._look_again)
        return future

    def _read(self) -> None:
        if self._waiting and not self._comm.is_closed:
            self.loop.add_reader(self._descriptor, self._on_readable)

    def _on_readable(self) -> None:
        """Collects complete operations. If there are none, an operation of another thread is complete and not
        collected, so that the descriptor stays readable: stops watching it for a pause."""
        before = len(self._waiting)
        self.collect()
        if not self._waiting or len(self._waiting) == before:
            self.loop.remove_reader(self._descriptor)
            self.loop.call_later(self._PAUSE, self._read)

    def _look_again(self) -> None:
        """Polls for an operation that was started before the descriptor was made, because the descriptor does not tell of it."""
        self.collect()
        if any(not operation.is_told for operation, _ in self._waiting):
            self.loop.call_later(self._PAUSE, self._look_again)

    def _tick(self) -> None:
        self.collect()
        self._is_ticking = bool(self._waiting)
        if self._is_ticking:
            self.loop.call_later(self._TICK, self._tick)

    def collect(self) -> None:
        """Completes the futures of complete operations."""
        left = []
        for operation, future in self._waiting:
            if future.done():
                continue
            try:
                is_done = operation.test()
            except Error:
                is_done = True  # whoever awaits the future gets the error
            if is_done:
                future.set_result(None)
            else:
                left.append((operation, future))
        self._waiting = left

    def close(self) -> None:
        """Lets go of the descriptor, which the communicator is about to close."""
        if not self.loop.is_closed():
            self.loop.remove_reader(self._descriptor)

    def is_empty(self) -> bool:
        return not self._waiting


def wait_all(requests: Iterable[Request]) -> None:
    """Waits for all of them; then raises the first error in their order, if there is one."""
    listed = list(requests)
    error: Optional[Error] = None
    for request in listed:
        try:
            request.wait()
        except Error as failure:
            error = error or failure
    if error is not None:
        raise error


def wait_any(requests: Sequence[Request]) -> int:
    """Waits for any of them and gives its place in the list. Raises the error of that one, or ValueError for an empty list."""
    if not requests:
        raise InvalidArgument("wait_any: there is no request to wait for")
    found: List[int] = []

    def look() -> bool:
        for place, request in enumerate(requests):
            if request._operation.test():
                found.append(place)
                return True
        return False

    _waiting.poll(look)
    requests[found[0]].wait()
    return found[0]


class _Groups(threading.local):
    """The open groups of each thread."""

    def __init__(self) -> None:
        self.depth = 0
        self.started: List[Request] = []


groups = _Groups()


class group:  # pylint: disable=invalid-name
    """Within ``with gossamer.group():`` this thread's blocking calls are only started; the end waits for all of them.

    So a group of sends and receives cannot deadlock. Groups nest; the outermost one waits. Raises the first error.
    """

    def __enter__(self) -> "group":
        groups.depth += 1
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        groups.depth -= 1
        if groups.depth == 0:
            started, groups.started = groups.started, []
            if error is None:
                wait_all(started)
