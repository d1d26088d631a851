"""What may be given as a buffer, and where its elements lie.

Memory is taken as it is, without a copy, from tensors of torch, from the buffer protocol (numpy, bytearray, array, memoryview,
mmap), from ``__array_interface__`` (types of ml_dtypes), ``__cuda_array_interface__`` (CuPy, Numba) and DLPack (JAX and others).
"""

import ctypes
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _abi
from ._errors import InvalidArgument

__all__ = ["DTYPES", "Typed", "as_dtype"]

# name: (number in the C ABI, bytes of an element)
DTYPES: Dict[str, Tuple[int, int]] = {
    "int8": (_abi.GOSS_INT8, 1), "uint8": (_abi.GOSS_UINT8, 1), "int32": (_abi.GOSS_INT32, 4), "uint32": (_abi.GOSS_UINT32, 4),
    "int64": (_abi.GOSS_INT64, 8), "uint64": (_abi.GOSS_UINT64, 8), "float16": (_abi.GOSS_FLOAT16, 2),
    "bfloat16": (_abi.GOSS_BFLOAT16, 2), "float32": (_abi.GOSS_FLOAT32, 4), "float64": (_abi.GOSS_FLOAT64, 8),
    "float8_e4m3fn": (_abi.GOSS_FLOAT8_E4M3, 1), "float8_e5m2": (_abi.GOSS_FLOAT8_E5M2, 1), "bool": (_abi.GOSS_BOOL, 1),
}
NAMES = {number: name for name, (number, _) in DTYPES.items()}
_KNOWN = ", ".join(DTYPES)


_LEGACY_STREAM = 1  # CUDA's legacy default stream


class Buffer(NamedTuple):
    """Contiguous elements in memory of the host, or of a CUDA device."""

    address: int
    elements: int
    dtype: int  # number of the type in the C ABI
    itemsize: int
    is_writable: bool
    keep: Any  # keeps the memory alive
    is_on_device: bool = False
    stream: Optional[int] = None  # the CUDA stream whose work writes and reads it; None: the elements are ready

    @property
    def nbytes(self) -> int:
        return self.elements * self.itemsize


class Typed:
    """A buffer whose elements are read as another type of the same size; as_dtype() makes it."""

    __slots__ = ("buffer", "dtype")

    def __init__(self, buffer: Any, dtype: str) -> None:
        if dtype not in DTYPES:
            raise InvalidArgument(f"as_dtype: '{dtype}' is no type; there are {_KNOWN}")
        self.buffer = buffer
        self.dtype = dtype


def as_dtype(buffer: Any, dtype: str) -> Typed:
    """``buffer`` with its elements read as ``dtype``, such as "bfloat16" for an array of uint16 that holds the bits.

    The memory is the same. The types must have the same size, or ``buffer`` must be bytes (uint8 or int8).
    """
    return Typed(buffer, dtype)


_BITS = {"int16": (-1, 2), "uint16": (-1, 2)}  # types that Gossamer lacks, but that as_dtype() may read as another one


def _dtype(name: str, role: str, is_bits: bool = False) -> Tuple[int, int]:
    found = DTYPES.get(name) or (_BITS.get(name) if is_bits else None)
    if found is None:
        raise TypeError(f"{role} has elements of type {name}, which Gossamer does not have; convert it to one of: {_KNOWN}")
    return found


def _not_contiguous(role: str, how: str) -> InvalidArgument:
    return InvalidArgument(f"{role} is not contiguous; give a contiguous copy ({how}), and copy a result back from it")


# ---- torch ----

_torch_types: Dict[Any, str] = {}


def _from_torch(torch: Any, tensor: Any, role: str, is_bits: bool) -> Buffer:
    if not _torch_types:
        _torch_types.update({getattr(torch, name): name for name in DTYPES if hasattr(torch, name)})
    if tensor.layout is not torch.strided:
        raise TypeError(f"{role} is a sparse tensor ({tensor.layout}); give tensor.to_dense()")
    if tensor.device.type not in ("cpu", "cuda"):
        raise TypeError(f"{role} is on device {tensor.device}; Gossamer reads memory of the host and of CUDA devices: give tensor.cpu()")
    number, itemsize = _dtype(_torch_types.get(tensor.dtype) or str(tensor.dtype).replace("torch.", ""), role, is_bits)
    if not tensor.is_contiguous():
        raise _not_contiguous(role, "tensor.contiguous()")
    if tensor.is_neg() or tensor.is_conj():
        raise InvalidArgument(f"{role} is a view whose memory holds other values; give tensor.resolve_conj().resolve_neg()")
    count, address = tensor.numel(), tensor.data_ptr()
    if count and not address:
        raise InvalidArgument(f"{role} has no memory any more: the storage of the tensor was freed or resized to nothing")
    # A tensor of its own: `p.data = other` gives `tensor` other memory, and its first one to the system.
    if tensor.device.type == "cpu":
        return Buffer(address, count, number, itemsize, True, tensor.detach())
    stream = torch.cuda.current_stream(tensor.device).cuda_stream or _LEGACY_STREAM
    return Buffer(address, count, number, itemsize, True, tensor.detach(), True, stream)


# ---- The buffer protocol ----

_FORMATS = {**{code: "int" for code in "bhilqn"}, **{code: "uint" for code in "BHILQN"}, **{code: "float" for code in "efd"}}


class _View(ctypes.Structure):
    """Py_buffer."""

    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]


_PYBUF_RECORDS_RO = 0x0010 | 0x0008 | 0x0004  # strides, shape and format; read-only ones too
_get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_View), ctypes.c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi))
_release_buffer = ctypes.PYFUNCTYPE(None, ctypes.POINTER(_View))(("PyBuffer_Release", ctypes.pythonapi))
_is_contiguous = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(_View), ctypes.c_char)(
    ("PyBuffer_IsContiguous", ctypes.pythonapi))


class _Export:
    """An export of the buffer protocol: while it lives, its owner can neither free nor resize the memory."""

    __slots__ = ("view",)

    def __init__(self, owner: Any) -> None:
        self.view = _View()
        _get_buffer(owner, self.view, _PYBUF_RECORDS_RO)  # raises what the owner raises

    def __del__(self, release: Any = _release_buffer) -> None:
        release(self.view)  # releases nothing where the constructor raised: obj is NULL then


def _format_name(text: str, itemsize: int) -> str:
    code = text[-1:]
    if text[:1] in (">", "!") and itemsize > 1:
        return f"big-endian '{text}'"
    if code in ("?", "c"):
        return "bool" if code == "?" else "uint8"
    kind = _FORMATS.get(code) if len(text.lstrip("@=<>!")) == 1 else None
    return f"{kind}{8 * itemsize}" if kind else f"'{text}'"


def _from_export(owner: Any, role: str, is_bits: bool) -> Buffer:
    export = _Export(owner)
    view = export.view
    number, itemsize = _dtype(_format_name((view.format or b"B").decode(), view.itemsize), role, is_bits)
    if not _is_contiguous(view, b"C"):
        raise _not_contiguous(role, "numpy.ascontiguousarray(array)")
    return Buffer(view.buf or 0, view.len // itemsize, number, itemsize, not view.readonly, export)


# ---- __array_interface__, __cuda_array_interface__ and DLPack ----


def _is_row_major(shape: Sequence[int], strides: Optional[Sequence[int]], unit: int) -> bool:
    """Whether elements follow each other, by strides in units of `unit` for one element."""
    if strides is None or 0 in shape:
        return True
    expected = unit
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def _product(shape: Sequence[int]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def _from_interface(owner: Any, interface: Any, role: str, is_bits: bool) -> Buffer:
    typestr, shape = interface["typestr"], interface["shape"]
    kind, length = {"i": "int", "u": "uint", "f": "float"}.get(typestr[1]), typestr[2:]
    if typestr[1] == "V":
        name = getattr(getattr(owner, "dtype", None), "name", typestr)
    else:
        name = "bool" if typestr[1:] == "b1" else f"{kind}{8 * int(length)}" if kind else f"'{typestr}'"
    if typestr[0] == ">" and typestr[2:] != "1":
        name = "big-endian " + name
    number, itemsize = _dtype(name, role, is_bits)
    if not _is_row_major(shape, interface.get("strides"), itemsize):
        raise _not_contiguous(role, "numpy.ascontiguousarray(array)")
    if not isinstance(interface.get("data"), tuple):
        raise TypeError(f"{role} has an __array_interface__ that names no address (data is {interface.get('data')!r}); give "
                        "numpy.asarray(array)")
    address, is_readonly = interface["data"]
    return Buffer(address, _product(shape), number, itemsize, not is_readonly, owner)


def _from_cuda_interface(owner: Any, role: str, is_bits: bool) -> Buffer:
    interface = owner.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError(f"{role} has a mask, which Gossamer does not read; give its elements without it")
    # Before version 3 nothing tells of streams: the elements are then the work of the default stream.
    stream = interface.get("stream") if interface.get("version", 0) >= 3 else _LEGACY_STREAM
    if stream == 0:
        raise InvalidArgument(f"{role} names stream 0 in its __cuda_array_interface__, which may mean two streams; name 1 or 2")
    return _from_interface(owner, interface, role, is_bits)._replace(is_on_device=True, stream=stream)


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", _DLTensor),
    ]


_DL_READ_ONLY = 1
_DL_HOST = (1, 3)  # kDLCPU, kDLCUDAHost
_DL_CUDA = 2
_DL_TYPES = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
_DL_WHOLE = {6: "bool", 10: "float8_e4m3fn", 12: "float8_e5m2"}
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


def _from_dlpack(owner: Any, role: str, is_bits: bool) -> Buffer:
    device = owner.__dlpack_device__()[0]
    is_on_device = device == _DL_CUDA
    if device not in _DL_HOST and not is_on_device:
        raise TypeError(f"{role} is on a device (DLPack device type {int(device)}); Gossamer reads memory of the host and of CUDA "
                        "devices: copy it there")
    stream = {"stream": _LEGACY_STREAM} if is_on_device else {}  # its owner makes the elements ready for this stream
    try:
        capsule = owner.__dlpack__(max_version=(1, 0), **stream)
    except TypeError:  # an owner that knows no versions
        capsule = owner.__dlpack__(**stream)
    name = _capsule_name(capsule)
    pointer = _capsule_pointer(capsule, name)
    is_writable = True
    if name == b"dltensor_versioned":
        managed = _DLManagedVersioned.from_address(pointer)
        tensor, is_writable = managed.tensor, not managed.flags & _DL_READ_ONLY
    else:
        tensor = _DLTensor.from_address(pointer)
    shape = tensor.shape[:tensor.ndim] if tensor.ndim else []
    kind = _DL_TYPES.get(tensor.code, f"DLPack type {tensor.code} of ")
    lanes = f"x{tensor.lanes}" if tensor.lanes != 1 else ""  # vectors, which Gossamer does not have
    number, itemsize = _dtype((_DL_WHOLE.get(tensor.code) or f"{kind}{tensor.bits}") + lanes, role, is_bits)
    if not _is_row_major(shape, tensor.strides[:tensor.ndim] if tensor.strides and tensor.ndim else None, 1):
        raise _not_contiguous(role, "a copy in row-major order")
    return Buffer((tensor.data or 0) + tensor.byte_offset, _product(shape), number, itemsize, is_writable, (owner, capsule),
                  is_on_device, stream.get("stream"))


# ---- Any of them ----


def _from_typed(typed: Typed, role: str) -> Buffer:
    inner = resolve(typed.buffer, role, True)
    number, itemsize = DTYPES[typed.dtype]
    if itemsize != inner.itemsize and inner.itemsize != 1:
        raise InvalidArgument(f"{role}: elements of {inner.itemsize} bytes cannot be read as {typed.dtype}, which has {itemsize}")
    if inner.nbytes % itemsize:
        raise InvalidArgument(f"{role} has {inner.nbytes} bytes, which are no whole number of {typed.dtype}")
    return inner._replace(elements=inner.nbytes // itemsize, dtype=number, itemsize=itemsize)


def resolve(owner: Any, role: str, is_bits: bool = False) -> Buffer:
    """Where the elements of `owner` lie; `role` names it in errors, such as "the receive buffer"."""
    buffer = _resolve(owner, role, is_bits)
    if buffer.address % buffer.itemsize and buffer.elements:
        raise InvalidArgument(f"{role} does not begin at a multiple of {buffer.itemsize} bytes, the size of its elements; give a copy")
    return buffer


def _resolve(owner: Any, role: str, is_bits: bool) -> Buffer:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(owner, getattr(torch, "Tensor", ())):
        return _from_torch(torch, owner, role, is_bits)
    if isinstance(owner, Typed):
        return _from_typed(owner, role)
    export_error: Optional[Exception] = None
    try:
        return _from_export(owner, role, is_bits)
    except (BufferError, InvalidArgument):
        raise
    except TypeError as error:
        if str(error).startswith(role):
            raise
    except ValueError as error:  # a released memoryview, a closed mmap, or a type that numpy cannot describe
        export_error = error
    if hasattr(owner, "__array_interface__"):
        return _from_interface(owner, owner.__array_interface__, role, is_bits)
    if hasattr(owner, "__cuda_array_interface__"):
        return _from_cuda_interface(owner, role, is_bits)
    if hasattr(owner, "__dlpack__"):
        return _from_dlpack(owner, role, is_bits)
    if export_error is not None:
        raise InvalidArgument(f"{role} cannot be used any more: {export_error}") from export_error
    kind = type(owner).__name__
    raise TypeError(f"{role} is of type {kind}, which has no memory to send from or receive into; give an array, such as "
                    f"numpy.asarray(...), array.array, bytearray or a tensor")


def readable(owner: Any, role: str = "the send buffer") -> Buffer:
    return resolve(owner, role)


def writable(owner: Any, role: str = "the receive buffer") -> Buffer:
    buffer = resolve(owner, role)
    if not buffer.is_writable:
        raise InvalidArgument(f"{role} is read-only; give one that may be written, such as array.copy() or a bytearray")
    return buffer


def on_host(buffer: Buffer, role: str) -> Buffer:
    """Refuses memory of a device, for calls that read or write themselves."""
    if buffer.is_on_device:
        raise TypeError(f"{role} is on a CUDA device, which this call does not take; give a copy on the host")
    return buffer


def stream_of(buffers: Sequence[Buffer]) -> Optional[int]:
    """The CUDA stream whose work a call on these buffers is a part of; None: of none."""
    streams = {buffer.stream for buffer in buffers if buffer.stream is not None}
    if len(streams) > 1:
        raise InvalidArgument("the send and the receive buffer are used by different CUDA streams; make one stream wait for the "
                              "other, and give both with it")
    return streams.pop() if streams else None


def sizes(values: Optional[Sequence[int]], ranks: int, role: str) -> Optional["ctypes.Array[ctypes.c_size_t]"]:
    """An array of one number a rank for the C ABI; None: NULL."""
    if values is None:
        return None
    listed: List[int] = [int(value) for value in values]
    if len(listed) != ranks or min(listed, default=0) < 0:
        raise InvalidArgument(f"{role} must be {ranks} numbers from 0, one for each rank; it is {listed}")
    return (ctypes.c_size_t * ranks)(*listed)
