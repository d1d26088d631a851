"""Started collectives as torch.distributed sees them."""

import os
import select
import threading
import time
from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch
from torch._C._distributed_c10d import Work

from .._comm import Comm
from .._errors import Error
from .._request import Request

_PAUSE = 0.001


def seconds(timeout: Any) -> Optional[float]:
    """A timedelta of torch in seconds; None where it says that there is none."""
    value = timeout.total_seconds() if timeout is not None else 0.0
    return value if value > 0 else None


class Pending:
    """Requests, what is to be done when all are complete (copies, as a rule), and the tensors that result."""

    def __init__(self, requests: Sequence[Request], result: Any, finish: Optional[Callable[[], None]]):
        self.requests = requests
        self.error: Optional[Error] = None
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
            self.error = next((request.exception() for request in self.requests if request.exception()), None)
            if self._finish is not None and self.error is None:
                with torch.no_grad():
                    self._finish()
            self._is_finished = True

    def wait(self, limit: Optional[float]) -> None:
        """Raises the error, or Timeout when the limit of the wait, in seconds, has passed."""
        for request in self.requests:
            try:
                request.wait(limit)
            except Error:
                if not request._operation.is_done:
                    raise
        self.end()
        self.value()

    def value(self) -> Any:
        """Of what has ended: raises its error."""
        if self.error is not None:
            raise self.error
        return self._result


class GroupWork(Work):
    """What torch waits for. Where groups are Backends (torch 2.9 and later), torch's C++ half hands the program a work of its own, which
    calls back for wait() and get_future() alone: there is_completed() stays False, and a future's done() tells."""

    def __init__(self, completer: "Completer", pending: Pending):
        super().__init__()
        self.pending = pending
        self._completer = completer
        completer.keep(self)

    def wait(self, timeout: Any = None) -> bool:
        self._completer.forget(self)
        self.pending.wait(seconds(timeout))
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self.pending.poll()

    def is_success(self) -> bool:
        return self.pending.poll() and self.pending.error is None

    def exception(self) -> Optional[Error]:
        return self.pending.error if self.pending.poll() else None

    def result(self) -> Any:
        self.wait()
        return self.pending.value()

    def source_rank(self) -> int:
        message = self.pending.requests[0].message
        return message.source if message is not None else -1

    _source_rank = source_rank  # of torch.distributed.recv

    def get_future(self) -> "torch.futures.Future[Any]":
        self._completer.forget(self)
        return self._completer.future(self.pending)

    getFuture = get_future  # of newer torch


class Completer:
    """Completes the futures of works in the background, so that DDP overlaps communication with the backward pass."""

    _MOST_KEPT = 1000

    def __init__(self, comm: Comm):
        self._comm = comm
        # torch's C++ code may hold a work whose Python half would be gone but for this: torch 1.13 does not keep it.
        self._kept: "dict[int, GroupWork]" = {}
        self._waiting: "List[Tuple[Pending, torch.futures.Future[Any]]]" = []
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None
        self._wake = -1
        self._descriptor = -1
        self._is_closed = False

    def keep(self, work: GroupWork) -> None:
        """Keeps `work` until somebody has waited for it or taken its future."""
        if len(self._kept) > self._MOST_KEPT:  # nobody waits for these: sends, as a rule
            for key in [key for key, one in list(self._kept.items()) if one.pending.poll()]:
                self._kept.pop(key, None)
        self._kept[id(work)] = work

    def forget(self, work: GroupWork) -> None:
        self._kept.pop(id(work), None)

    def future(self, pending: Pending) -> "torch.futures.Future[Any]":
        """A future of the value. C++ code sees the error of a future only where a callback has raised it."""
        event: "torch.futures.Future[None]" = torch.futures.Future()
        future: "torch.futures.Future[Any]" = event.then(lambda _: pending.value())
        if pending.poll():
            event.set_result(None)
            return future
        with self._lock:
            if self._thread is None:
                self._start()
            self._waiting.append((pending, event))
        os.write(self._wake, b"\1")
        return future

    def _start(self) -> None:
        """The descriptor tells of operations that start from now on."""
        self._descriptor = self._comm._told()
        self._reading, self._wake = os.pipe()
        os.set_blocking(self._reading, False)
        self._thread = threading.Thread(target=self._run, name="gossamer-futures", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        poll.register(self._reading, select.POLLIN)
        while not self._is_closed:
            with self._lock:
                is_timed = any(not request._operation.is_told for pending, _ in self._waiting for request in pending.requests)
            ready = [descriptor for descriptor, _ in poll.poll(1000 * _PAUSE if is_timed else None)]
            if self._reading in ready:
                self._drain()
            if not self._collect() and self._descriptor in ready:
                time.sleep(_PAUSE)  # of another thread, which has not collected it yet
        os.close(self._reading)
        os.close(self._wake)

    def _drain(self) -> None:
        try:
            while os.read(self._reading, 4096):
                pass
        except BlockingIOError:
            pass

    def _collect(self) -> bool:
        """Sets the futures of works that have ended; whether there was one."""
        with self._lock:
            ended = [one for one in self._waiting if one[0].poll()]
            self._waiting = [one for one in self._waiting if one not in ended]
        for _, event in ended:
            event.set_result(None)
        return bool(ended)

    def close(self) -> None:
        """The communicator is closed, and every operation with it."""
        self._is_closed = True
        if self._thread is not None:
            self._collect()
            os.write(self._wake, b"\1")
        self._kept.clear()
