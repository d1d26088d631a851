"""Gossamer under torchcomms (its package must be installed), which finds it by itself:

    comm = torchcomms.new_comm("gossamer", torch.device("cpu"), "main", hints={"tls": "psk:key"})
    comm.all_reduce(tensor, torchcomms.ReduceOp.SUM, async_op=False)

Hints are settings of gossamer.init(), whose numbers may be texts. Ranks meet in ``store=`` where one is given, else as gossamer.init() does. Errors
are exceptions of gossamer; no process is aborted. torchcomms hands no batches of messages, windows, hints or timeouts of single calls, and
no factor of PREMUL_SUM to backends that are written in Python.
"""

import os
from types import SimpleNamespace
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
import torchcomms
from torch import Tensor

from .._comm import Comm
from .._errors import InvalidArgument
from .._world import SETTINGS, init
from ._group import Collectives, meet, part_of
from ._work import GroupWork, seconds

__all__ = ["GossamerComm"]

# torchcomms looks for a rank and the number of ranks in this order.
_LAUNCHERS = (("TORCHCOMM_RANK", "TORCHCOMM_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
              ("RANK", "WORLD_SIZE"))


class _Calls(Collectives):
    """What torch.distributed calls of a group, without a group of torch."""

    def __init__(self, comm: Comm) -> None:
        self._begin(comm)


def _place() -> Tuple[int, int]:
    """This process's rank, and how many there are."""
    for rank, size in _LAUNCHERS:
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    names = ", ".join(f"{rank} and {size}" for rank, size in _LAUNCHERS)
    raise InvalidArgument(f"new_comm: no launcher says which rank this process is; set one of {names}")


def _settings(hints: Dict[str, str]) -> Dict[str, Any]:
    unknown = set(hints) - set(SETTINGS)
    if unknown:
        raise InvalidArgument(f"new_comm: unknown hint '{min(unknown)}'; backend gossamer has {', '.join(SETTINGS)}")
    return {name: int(text) if text.isdecimal() else text for name, text in hints.items()}


def _opts(op: Any = None, root: Optional[int] = None) -> SimpleNamespace:
    """A call's options as torch.distributed gives them."""
    opts = SimpleNamespace()
    if op is not None:
        name = op.type.name
        if name == "PREMUL_SUM":
            raise InvalidArgument("ReduceOp PREMUL_SUM: torchcomms does not tell its factor to backend gossamer; multiply the tensor "
                                  "before the call, and give SUM")
        opts.reduceOp = getattr(dist.ReduceOp, name)
    if root is not None:
        opts.rootRank = root
    return opts


class GossamerComm(torchcomms.TorchCommBackend):  # type: ignore[misc]
    """A communicator of torchcomms over Gossamer. torchcomms makes it, and calls it for the program."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._made: Optional[_Calls] = None

    def init(self, device: torch.device, name: str, options: Any) -> None:  # pylint: disable=unused-argument
        """Collective: meets the other ranks. The tensors of a call say on which device it works."""
        settings, limit = _settings(dict(options.hints)), seconds(options.timeout)
        if options.store is not None:
            rank, size = _place()
            self._begin(meet(dist.PrefixStore(f"torchcomms/{name}", options.store), rank, size, limit, settings), name)
        else:
            settings.setdefault("timeout", limit)
            self._begin(init(**settings), name)

    def _begin(self, comm: Comm, name: str) -> None:
        self._made, self._name = _Calls(comm), name

    @property
    def _calls(self) -> _Calls:
        if self._made is None:
            raise InvalidArgument(f"communicator '{self._name}' of torchcomms is finalized, or was never begun")
        return self._made

    def finalize(self) -> None:
        calls, self._made = self._calls, None
        calls.shutdown()

    def split(self, ranks: Sequence[int], name: str, options: Any) -> "Optional[GossamerComm]":
        """Collective over all ranks: a communicator of ``ranks``, in their order. A rank with an empty list is in none."""
        if options.hints:
            raise InvalidArgument("split: a part has the settings of the whole communicator; give no hints")
        size = self._calls.comm.size
        if ranks and (self.get_rank() not in ranks or len(set(ranks)) != len(ranks) or min(ranks) < 0 or max(ranks) >= size):
            raise InvalidArgument(f"split: {list(ranks)} must be different ranks of {size}, this one, {self.get_rank()}, among them; a rank "
                                  "that is in no part gives an empty list")
        comm = part_of(self._calls.comm, ranks)
        if comm is None:
            return None
        part = type(self)()
        part._begin(comm, name)
        part.set_timeout(options.timeout)
        return part

    def get_rank(self) -> int:
        return self._calls.comm.rank

    def get_size(self) -> int:
        return self._calls.comm.size

    def get_backend_name(self) -> str:
        return "gossamer"

    def get_comm_name(self) -> str:
        return self._name

    def set_timeout(self, timeout: Any) -> None:
        """Sets the timeout of later calls."""
        self._calls.set_timeout(timeout)

    @staticmethod
    def _end(work: GroupWork, async_op: bool) -> Optional[GroupWork]:
        if async_op:
            return work
        work.wait()
        return None

    def send(self, tensor: Tensor, dst: int, async_op: bool) -> Optional[GroupWork]:
        return self._end(self._calls.send([tensor], dst), async_op)

    def recv(self, tensor: Tensor, src: int, async_op: bool) -> Optional[GroupWork]:
        return self._end(self._calls.recv([tensor], src), async_op)

    def barrier(self, async_op: bool) -> Optional[GroupWork]:
        return self._end(self._calls.barrier(), async_op)

    def broadcast(self, tensor: Tensor, root: int, async_op: bool) -> Optional[GroupWork]:
        return self._end(self._calls.broadcast(tensor, _opts(root=root)), async_op)

    def all_reduce(self, tensor: Tensor, op: Any, async_op: bool) -> Optional[GroupWork]:
        return self._end(self._calls.allreduce(tensor, _opts(op)), async_op)

    def reduce(self, tensor: Tensor, root: int, op: Any, async_op: bool) -> Optional[GroupWork]:
        return self._end(self._calls.reduce([tensor], _opts(op, root)), async_op)

    def all_gather(self, tensor_list: List[Tensor], tensor: Tensor, async_op: bool) -> Optional[GroupWork]:
        """``tensor_list`` has a tensor for each rank, of the size of that rank's ``tensor``."""
        return self._end(self._calls.allgather([tensor_list], [tensor]), async_op)

    def all_gather_single(self, output: Tensor, input: Tensor, async_op: bool) -> Optional[GroupWork]:  # pylint: disable=redefined-builtin
        return self._end(self._calls._allgather_base(output, input), async_op)

    def reduce_scatter(self, output: Tensor, input_list: List[Tensor], op: Any, async_op: bool) -> Optional[GroupWork]:
        """``input_list`` has a tensor for each rank, of the size of that rank's ``output``."""
        return self._end(self._calls.reduce_scatter([output], [input_list], _opts(op)), async_op)

    def reduce_scatter_single(self, output: Tensor, input: Tensor, op: Any,  # pylint: disable=redefined-builtin
                              async_op: bool) -> Optional[GroupWork]:
        return self._end(self._calls._reduce_scatter_base(output, input, _opts(op)), async_op)

    def all_to_all(self, output_list: List[Tensor], input_list: List[Tensor], async_op: bool) -> Optional[GroupWork]:
        return self._end(self._calls.alltoall(output_list, input_list), async_op)

    def all_to_all_v_single(self, output: Tensor, input: Tensor, output_splits: Sequence[int],  # pylint: disable=redefined-builtin
                            input_splits: Sequence[int], async_op: bool) -> Optional[GroupWork]:
        """The splits count entries of dimension 0, one for each rank."""
        return self._end(self._calls.alltoall_base(output, input, list(output_splits), list(input_splits)), async_op)

    def all_to_all_single(self, output: Tensor, input: Tensor, async_op: bool) -> Optional[GroupWork]:  # pylint: disable=redefined-builtin
        return self.all_to_all_v_single(output, input, [], [], async_op)

    def scatter(self, output: Tensor, input_list: List[Tensor], root: int, async_op: bool) -> Optional[GroupWork]:
        return self._end(self._calls.scatter([output], [input_list], _opts(root=root)), async_op)

    def gather(self, output_list: List[Tensor], input: Tensor, root: int, async_op: bool) -> Optional[GroupWork]:  # pylint: disable=redefined-builtin
        return self._end(self._calls.gather([output_list], [input], _opts(root=root)), async_op)

    all_gather_v = all_gather
    reduce_scatter_v = reduce_scatter


# torchcomms loads this module by the entry point.
torchcomms.register_backend("gossamer", GossamerComm)
