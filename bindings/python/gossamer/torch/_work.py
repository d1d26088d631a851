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


class GroupWork(Work):
    """Requests, what is to be done when all are complete (copies, as a rule), and the tensors that result."""

    def __init__(self, completer: "Completer", requests: Sequence[Request], result: Any, finish: Optional[Callable[[], None]]):
        super().__init__()
        self._completer = completer
        self._requests = requests
        self._result = result
        self._finish = finish
        self._lock = threading.Lock()
        self._is_finished = False
        self._error: Optional[Error] = None
        completer.keep(self)

    def poll(self) -> bool:
        """Whether the work has ended, with success or not."""
        if self._is_finished:
            return True
        if not all(request._operation.test() for request in self._requests):
            return False
        self._end()
        return True

    def _end(self) -> None:
        """All requests are complete."""
        with self._lock:
            if self._is_finished:
                return
            self._error = next((request.exception() for request in self._requests if request.exception()), None)
            if self._finish is not None and self._error is None:
                with torch.no_grad():
                    self._finish()
            self._is_finished = True

    # What torch calls.

    def wait(self, timeout: Any = None) -> bool:
        self._completer.forget(self)
        limit = seconds(timeout)
        for request in self._requests:
            try:
                request.wait(limit)
            except Error:
                if not request._operation.is_done:
                    raise
        self._end()
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self.poll()

    def is_success(self) -> bool:
        return self.poll() and self._error is None

    def exception(self) -> Optional[Error]:
        return self._error if self.poll() else None

    def result(self) -> Any:
        self.wait()
        return self._result

    def source_rank(self) -> int:
        message = self._requests[0].message
        return message.source if message is not None else -1

    _source_rank = source_rank

    def get_future(self) -> "torch.futures.Future[Any]":
        self._completer.forget(self)
        return self._completer.future(self)

    def future_value(self) -> Any:
        return self._result


class Completer:
    """Completes the futures of works in the background, so that DDP overlaps communication with the backward pass."""

    _MOST_KEPT = 1000

    def __init__(self, comm: Comm):
        self._comm = comm
        # torch's C++ code may hold a work whose Python half would be gone but for this: torch 1.13 does not keep it.
        self._kept: "dict[int, GroupWork]" = {}
        self._waiting: "List[Tuple[GroupWork, torch.futures.Future[Any], bool]]" = []
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None
        self._wake = -1
        self._descriptor = -1
        self._is_closed = False

    def keep(self, work: GroupWork) -> None:
        """Keeps `work` until somebody has waited for it or taken its future."""
        if len(self._kept) > self._MOST_KEPT:  # nobody waits for these: sends, as a rule
            for key in [key for key, one in list(self._kept.items()) if one.poll()]:
                self._kept.pop(key, None)
        self._kept[id(work)] = work

    def forget(self, work: GroupWork) -> None:
        self._kept.pop(id(work), None)

    def future(self, work: GroupWork) -> "torch.futures.Future[Any]":
        future: "torch.futures.Future[Any]" = torch.futures.Future()
        if work.poll():
            self._set(work, future)
            return future
        with self._lock:
            if self._thread is None:
                self._start()
            is_told = all(request._operation.is_told for request in work._requests)
            self._waiting.append((work, future, is_told))
        os.write(self._wake, b"\1")
        return future

    @staticmethod
    def _set(work: GroupWork, future: Any) -> None:
        if work._error is not None:
            future.set_exception(work._error)
        else:
            future.set_result(work.future_value())

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
                is_timed = any(not is_told for _, _, is_told in self._waiting)
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
            waiting = list(self._waiting)
        ended = [one for one in waiting if one[0].poll()]
        for work, future, _ in ended:
            self._set(work, future)
        with self._lock:
            self._waiting = [one for one in self._waiting if one not in ended]
        return bool(ended)

    def close(self) -> None:
        """The communicator is closed, and every operation with it."""
        self._is_closed = True
        if self._thread is not None:
            self._collect()
            os.write(self._wake, b"\1")
        self._kept.clear()
