"""Operations on CUDA tensors as parts of streams."""

import contextlib
import functools
import threading
from typing import Any, Callable, Dict, Hashable, Iterator, List, Optional, Sequence, Tuple, TypeVar, cast

import torch

from .._errors import InvalidArgument
from .._request import Request
from ._work import Finish, Pending

COLLECTIVES, SENDS, RECEIVES, FUTURES = "collectives", "sends", "receives", "futures"

_LONGEST_LAG = 1.0  # seconds from where a stream has passed an operation until the library knows it


def _tensors_in(arguments: Sequence[Any]) -> List[torch.Tensor]:
    """Tensors among arguments, and in lists among them."""
    found: List[torch.Tensor] = []
    for one in arguments:
        if isinstance(one, torch.Tensor):
            found.append(one)
        elif isinstance(one, (list, tuple)):
            found += _tensors_in(one)
    return found


class StreamPending(Pending):
    """Requests that are parts of a stream of a group. What is to be done behind them is put into the stream at once."""

    def __init__(self, requests: Sequence[Request], result: Any, finish: Finish, streams: "Streams", stream: Any) -> None:
        super().__init__(requests, result, None)
        if finish is not None:
            with torch.inference_mode():
                finish()
        self._streams = streams
        self._event = torch.cuda.Event()
        self._event.record(stream)
        self._device = stream.device

    def poll(self) -> bool:
        if self._is_finished:
            return True
        if self._event.query():  # then the library is about to find the requests complete, if it has not yet
            is_over = all([request._operation.wait(_LONGEST_LAG) for request in self.requests])
        else:
            is_over = all(request._operation.test() for request in self.requests) and any(request.exception() for request in self.requests)
        if is_over:
            self.end()
        return is_over

    def wait(self, limit: Optional[float]) -> None:
        """Makes torch's current stream wait. Blocks the caller only with a limit: until the operation is complete."""
        if limit is not None:
            super().wait(limit)
        elif self.poll():
            self.value()
        torch.cuda.current_stream(self._device).wait_event(self._event)

    def joined(self, others: "Sequence[StreamPending]") -> "StreamPending":
        """What is over when all the others are, of the same group."""
        relay = self._streams.of(self._device, FUTURES)
        for other in others:
            relay.wait_event(other._event)
        return StreamPending([request for other in others for request in other.requests], [], None, self._streams, relay)

    def is_waited_for(self) -> bool:
        return True

    def future(self) -> "torch.futures.Future[Any]":
        """A future that is done for the host, and makes the streams wait of those who ask for its value. It has the error of an
        operation that is known to have failed."""
        if self.poll() and self.error is not None:
            failed: "torch.futures.Future[None]" = torch.futures.Future()
            failed.set_result(None)
            return failed.then(lambda _: self.value())
        future: "torch.futures.Future[Any]" = torch.futures.Future(devices=[self._device])
        relay = self._streams.of(self._device, FUTURES)
        relay.wait_event(self._event)
        with torch.cuda.stream(relay):
            future.set_result(self._result)
        return future


class Streams:
    """The streams of a group beside the program's own, so that operations go on while the program computes. Collectives follow each
    other in one. Sends have another one, because two ranks may both receive before they send. Receives from each rank have one of
    their own, and those from any rank: a program may ask early for a message that another rank's must come before."""

    def __init__(self) -> None:
        self._made: Dict[Tuple[torch.device, Hashable], Any] = {}
        self._lock = threading.Lock()
        self._this_thread = threading.local()

    def of(self, device: torch.device, kind: Hashable) -> Any:
        with self._lock:
            if (device, kind) not in self._made:
                self._made[device, kind] = torch.cuda.Stream(device, priority=-1)
            return self._made[device, kind]

    def entered(self) -> Any:
        """The stream whose part this thread's operations are; None: of none."""
        return getattr(self._this_thread, "stream", None)

    @contextlib.contextmanager
    def beside(self, device: torch.device, kind: Hashable) -> Iterator[Any]:
        """What this thread starts inside is a part of one of the group's streams, behind what its current stream has to do."""
        stream = self.of(device, kind)
        stream.wait_stream(torch.cuda.current_stream(device))
        before = self.entered()
        self._this_thread.stream = stream
        try:
            with torch.cuda.stream(stream):
                yield stream
        finally:
            self._this_thread.stream = before


Method = TypeVar("Method", bound=Callable[..., Any])


def ordered(kind: str, of_peer: bool = False) -> Callable[[Method], Method]:
    """Makes a method of Collectives take CUDA tensors, which it starts in the group's stream of a kind, or of a kind and the rank that
    its second argument names."""

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
            tensors = _tensors_in(arguments)
            device = tensors[0].device if tensors else None
            for one in tensors:
                if one.device != device:
                    raise InvalidArgument(f"{method.__name__}: tensors are on {device} and on {one.device}; give all on one device")
            if device is None or device.type != "cuda":
                return method(self, *arguments, **keywords)
            self._completer.look_after_streams()
            with self._streams.beside(device, (kind, arguments[1]) if of_peer else kind) as stream:
                work = method(self, *arguments, **keywords)
                for one in tensors:  # the allocator gives their memory to nobody else before the stream has passed
                    one.record_stream(stream)
            return work

        return cast(Method, call)

    return decorate
