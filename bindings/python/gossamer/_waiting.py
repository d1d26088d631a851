"""Waiting so that other threads go on and Ctrl-C ends the wait."""

import os
import threading
import time
from typing import Any, Callable, List, Optional, TypeVar

Result = TypeVar("Result")

_SPINS = 40  # looks at once, about a microsecond each
_YIELDS = 40  # then looks between which another process may run
_LONGEST_PAUSE = 0.002
_PAUSE_SHARE = 1 / 16  # of the time waited so far: no wait is longer by more than that


def poll(is_done: Callable[[], bool], limit: Optional[float] = None) -> bool:
    """Calls `is_done` until it is, for `limit` seconds at most. False: the limit has passed.

    Between two calls Python runs the handlers of signals, so Ctrl-C raises KeyboardInterrupt here.
    """
    for _ in range(_SPINS):
        if is_done():
            return True
    began = time.monotonic()
    for _ in range(_YIELDS):
        os.sched_yield()
        if is_done():
            return True
    while True:
        waited = time.monotonic() - began
        if limit is not None and waited >= limit:
            return is_done()
        pause = min(max(waited * _PAUSE_SHARE, 1e-5), _LONGEST_PAUSE)
        time.sleep(pause if limit is None else min(pause, limit - waited))
        if is_done():
            return True


def apart(call: Callable[[], Result], discard: Optional[Callable[[Result], Any]] = None) -> Result:
    """Makes a call that blocks inside of the library, on a thread of its own, so that Ctrl-C ends the caller's wait.

    The call itself goes on then; what it gives is handed to `discard`.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()  # signals are handled by the main thread alone
    outcome: List[Any] = []
    is_left = [False]
    done = threading.Lock()
    done.acquire()

    def body() -> None:
        try:
            outcome.append(call())
            outcome.append(None)
        except BaseException as error:  # pylint: disable=broad-except
            outcome[:] = [None, error]
        done.release()
        if is_left[0] and discard is not None and outcome[1] is None:
            discard(outcome[0])

    threading.Thread(target=body, name="gossamer-call", daemon=True).start()
    try:
        done.acquire()
    except BaseException:
        is_left[0] = True
        raise
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]  # type: ignore[no-any-return]
