"""Started collectives as torch.distributed sees them."""

import collections
import contextlib
import functools
import os
import select
import sys
import threading
import time
from typing import Any, Callable, Deque, List, Optional, Sequence, Tuple

import torch
from torch._C._distributed_c10d import Work

from .._comm import Comm
from .._errors import Error, InvalidArgument, Timeout
from .._request import Request

Finish = Optional[Callable[[], None]]

_PAUSE = 0.001
_LONGEST_PAUSE = 0.05  # until the leader finds what another thread has collected without telling


def _own_references() -> int:
    """What sys.getrefcount() gives for a work that Completer alone keeps, in its dictionary and a variable: Python 3.14 counts an
    argument no more."""
    kept = {0: object()}
    one = kept[0]
    return sys.getrefcount(one)


_OWN_REFERENCES = _own_references()


def seconds(timeout: Any) -> Optional[float]:
    """A timedelta of torch in seconds; None where it says that there is none."""
    value = timeout.total_seconds() if timeout is not None else 0.0
    return value if value > 0 else None


def _advised(error: Optional[Error]) -> Optional[Error]:
    """The error; a Timeout also says where torch is told how long operations may take."""
    if not isinstance(error, Timeout):
        return error
    return Timeout(f"{error.text}; a longer timeout is given to init_process_group() or new_group()", error.rank)


class Pending:
    """Requests, what is to be done when all are complete (copies, as a rule), and the tensors that result."""

    def __init__(self, requests: Sequence[Request], result: Any, finish: Finish) -> None:
        self.requests = requests
        self.error: Optional[Exception] = None
        self._result = result
        self._finish = finish
        self._lock = threading.Lock()
        self._is_finished = False

    def poll(self) -> bool:
        """Whether it has ended, with success or not."""
        if self._is_finished:
            return True
        if not all(request._operation.test() for request in self.requests):
            return False
        self.end()
        return True

    def end(self) -> None:
        """All requests are complete."""
        with self._lock:
            if self._is_finished:
                return
            self.error = next((_advised(request.exception()) for request in self.requests if request.exception()), None)
            if self._finish is not None and self.error is None:
                try:
                    with torch.inference_mode():  # which copies into tensors that were made in it, in any thread
                        self._finish()
                except Exception as error:  # pylint: disable=broad-except
                    self.error = error
            self._finish = None
            self._is_finished = True

    def wait(self, limit: Optional[float]) -> None:
        """Raises the error, or Timeout when the limit of the wait, in seconds, has passed."""
        deadline = None if limit is None else time.monotonic() + limit
        for request in self.requests:
            try:
                request.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
            except Error as error:
                if not request._operation.is_done:
                    if isinstance(error, Timeout):
                        raise Timeout(f"the operation is not complete after {limit:g} s; it goes on") from None
                    raise
        self.end()
        self.value()

    def is_waited_for(self) -> bool:
        """Whether nothing is left to do for a work that was waited for."""
        return self.poll()

    def future(self) -> "Optional[torch.futures.Future[Any]]":
        """A future that needs no thread; None: there is none."""
        return None

    def value(self) -> Any:
        """The result of a work that has ended; raises its error."""
        if self.error is not None:
            raise self.error
        return self._result

    def drop_result(self) -> None:
        """Gives back the tensors of a work that has ended."""
        self._result = []


class Unstarted(Pending):
    """Stands for a receive of a batch until the end of the batch starts it. Where a call of the batch has raised an error, torch does
    not end the batch, and the receive never starts. `leave_batch` is called when somebody waits for it all the same."""

    def __init__(self, leave_batch: Callable[[], None]) -> None:
        super().__init__([], None, None)
        self._leave_batch = leave_batch

    def poll(self) -> bool:
        return False

    def end(self) -> None:
        self._leave_batch()
        raise InvalidArgument("this receive has not started: it belongs to a batch of this thread that was not ended, because an error was "
                              "raised in it; call recv() or irecv() again, outside of the batch")

    def future(self) -> "Optional[torch.futures.Future[Any]]":
        self.end()
        return None


class GroupWork(Work):
    """A started operation, on which torch waits. Where groups are Backends (torch 2.14 and later), torch's C++ half hands the program a work of its own, which
    calls back for wait() and get_future() alone: there is_completed() stays False, and a future's done() tells."""

    def __init__(self, completer: "Completer", pending: Pending):
        super().__init__()
        self.pending = pending
        self._completer = completer
        completer.keep(self)

    def wait(self, timeout: Any = None) -> bool:
        try:
            self.pending.wait(seconds(timeout))
        finally:
            if self.pending.is_waited_for():
                self._completer.forget(self)
            self._completer.look_again()
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self.pending.poll()

    def is_success(self) -> bool:
        return self.pending.poll() and self.pending.error is None

    def exception(self) -> Optional[Exception]:
        return self.pending.error if self.pending.poll() else None

    def result(self) -> Any:
        self.wait()
        return self.pending.value()

    def source_rank(self) -> int:
        message = self.pending.requests[0].wait()
        return message.source if message is not None else -1

    _source_rank = source_rank  # torch.distributed.recv calls it by this name

    def get_future(self) -> "torch.futures.Future[Any]":
        future = self._completer.future(self.pending)
        self._completer.forget(self)
        return future

    getFuture = get_future  # newer torch calls it by this name


class _Futures:
    """Calls functions in the background, as a rule set_result() of a future, when works have ended. Threads keep it, and it does not
    keep the communicator.

    One thread at a time leads: it waits for the descriptor. Before it runs callbacks, which may wait for other futures, it lets
    another one lead; those that have nothing to do wait for their turn.
    """

    def __init__(self, comm: Comm):
        self._descriptor = comm._told()  # tells of operations that start from now on
        self._waiting: List[Tuple[Pending, Callable[[], None]]] = []
        self._turn = threading.Condition(threading.RLock())  # guards everything here; reentrant for finalizers
        self._idle = 0
        self._is_led = False
        self._is_coming = False  # a thread that will lead
        self._is_closed = False  # the descriptor is about to go
        self._process = os.getpid()
        self._reading, self._wake = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._wake, False)
        comm._dependents.add(self)

    def add(self, pending: Pending, call: Callable[[], None]) -> None:
        with self._turn:
            self._waiting.append((pending, call))
            if self._is_led:
                self._wake_leader()
            elif not self._is_coming:
                self._find_leader()

    def look_again(self) -> None:
        """This thread may have collected operations that have just completed, so that the descriptor told the leader nothing."""
        if self._waiting and self._is_led and os.getpid() == self._process:
            with self._turn:
                self._wake_leader()

    def _find_leader(self) -> None:
        """Lets another thread lead, when no thread does."""
        self._is_coming = True
        if self._idle:
            self._turn.notify()
        else:
            threading.Thread(target=self._run, name="gossamer-futures", daemon=True).start()

    def _wake_leader(self) -> None:
        if self._wake >= 0:
            try:
                os.write(self._wake, b"\1")
            except BlockingIOError:
                pass  # the pipe is full, so the leader will wake

    def _run(self) -> None:
        while True:
            with self._turn:
                while self._is_led or not self._waiting:
                    if self._is_closed and not self._waiting:
                        self._is_coming = False
                        return
                    self._idle += 1
                    self._turn.wait()
                    self._idle -= 1
                self._is_led = True
                self._is_coming = False
            ended = self._lead()
            with self._turn:
                self._is_led = False
                if self._waiting:
                    self._find_leader()
                if self._is_closed:
                    self._turn.notify_all()
            while ended:
                ended.pop(0)()

    def _lead(self) -> List[Callable[[], None]]:
        """Waits until some works have ended, or the communicator closes the descriptor."""
        poll = select.poll()
        if not self._is_closed:
            poll.register(self._descriptor, select.POLLIN)
            poll.register(self._reading, select.POLLIN)
        while not self._is_closed:
            waiting = self._waiting
            ended = self._collect()
            if ended:
                return ended
            is_timed = any(not request._operation.is_told for pending, _ in waiting for request in pending.requests)
            ready = [descriptor for descriptor, _ in poll.poll(1000 * (_PAUSE if is_timed else _LONGEST_PAUSE))]
            if self._reading in ready:
                self._drain()
            elif ready:
                ended = self._collect()
                if ended:
                    return ended
                time.sleep(_PAUSE)  # an operation of another thread has ended, which has not collected it yet
        with self._turn:
            self._is_led = False
            self._turn.notify_all()
        while True:
            ended = self._collect()  # the communicator ends all of them
            if ended or not self._waiting:
                return ended
            time.sleep(_PAUSE)

    def _collect(self) -> List[Callable[[], None]]:
        """Takes the works that have ended out of the list, and gives what is to be called."""
        with self._turn:
            waiting = list(self._waiting)
        ended = [one for one in waiting if one[0].poll()]
        if ended:
            with self._turn:
                ended = [one for one in ended if one in self._waiting]
                self._waiting = [one for one in self._waiting if one not in ended]
        return [call for _, call in ended]

    def _drain(self) -> None:
        try:
            while os.read(self._reading, 4096):
                pass
        except BlockingIOError:
            pass

    def _destroy(self) -> None:
        """The communicator is about to close the descriptor, and then ends every operation."""
        if os.getpid() != self._process:  # a child: the threads are the parent's
            return
        with self._turn:
            if self._is_closed:
                return
            self._is_closed = True
            self._wake_leader()
            self._turn.notify_all()
            while self._is_led:
                self._turn.wait()
            for descriptor in (self._reading, self._wake):
                os.close(descriptor)
            self._reading = self._wake = -1


class Completer:
    """Completes the futures of works in the background, so that DDP overlaps communication with the backward pass."""

    _MOST_KEPT = 1000
    _LOOKS = 2  # each new work looks at so many old ones that nobody has waited for

    def __init__(self, comm: Comm):
        self._comm = comm
        # torch's C++ code may hold a work whose Python half would be gone but for this: torch 1.13 does not keep it.
        self._kept: "dict[int, GroupWork]" = {}
        self._full: Deque[int] = collections.deque()  # keys of works that may still have tensors
        self._futures: Optional[_Futures] = None
        self._in_streams: "set[Pending]" = set()
        self._lock = threading.Lock()

    def keep(self, work: GroupWork) -> None:
        """Keeps `work` until somebody has waited for it or taken its future."""
        for _ in range(min(self._LOOKS, len(self._full))):
            try:
                key = self._full.popleft()
            except IndexError:  # another thread has looked at the last one
                break
            self._empty(key)
        if len(self._kept) > self._MOST_KEPT:
            for key in [key for key, one in list(self._kept.items()) if one.pending.poll()]:
                self._kept.pop(key, None)
        self._kept[id(work)] = work
        self._full.append(id(work))

    def _empty(self, key: int) -> None:
        """Drops the tensors of a work that nobody has waited for, such as a send, when it has ended and the program has let it go."""
        work = self._kept.get(key)
        if work is None:
            return
        if sys.getrefcount(work) <= _OWN_REFERENCES and work.pending.poll():
            work.pending.drop_result()
        else:
            self._full.append(key)

    def forget(self, work: GroupWork) -> None:
        self._kept.pop(id(work), None)

    def future(self, pending: Pending) -> "torch.futures.Future[Any]":
        """A future of the value. C++ code sees the error of a future only where a callback has raised it."""
        done = pending.future()
        if done is not None:
            return done
        event: "torch.futures.Future[None]" = torch.futures.Future()
        future: "torch.futures.Future[Any]" = event.then(lambda _: pending.value())
        if pending.poll():
            event.set_result(None)
            return future
        self._begun().add(pending, functools.partial(event.set_result, None))
        return future

    def _begun(self) -> _Futures:
        with self._lock:
            if self._futures is None:
                self._futures = _Futures(self._comm)
            return self._futures

    def look_after_streams(self) -> None:
        """Operations that start from now on may be given to look_after()."""
        self._begun()

    def look_after(self, requests: Sequence[Request]) -> None:
        """Aborts the communicator when one of the requests fails. They are ordered in streams, which would wait long
        for them, perhaps without a thread that waits for the requests."""
        pending = Pending(requests, None, None)
        self._in_streams.add(pending)

        def ended() -> None:
            self._in_streams.discard(pending)
            if pending.error is not None and not self._comm.is_closed:
                with contextlib.suppress(Error):
                    self._comm.abort(f"an operation on CUDA tensors has failed: {pending.error}")

        self._begun().add(pending, ended)

    def drain(self) -> None:
        """Waits until streams have passed the operations that are parts of them, or these have failed."""
        for pending in list(self._in_streams):
            for request in pending.requests:
                with contextlib.suppress(Error):
                    request.wait()
        self.look_again()

    def look_again(self) -> None:
        """Futures are done soon whose works this thread has waited for."""
        if self._futures is not None:
            self._futures.look_again()

    def close(self) -> None:
        """The communicator is closed, and every operation with it."""
        self._kept.clear()
        self._full.clear()
