"""Memory of CUDA devices, over the stand-in of tests/cuda: arrays that name their stream, and what DLPack gives."""

import ctypes
import sys
import types
import unittest

import gossamer
import numpy as np
import ranks
from gossamer import _buffers

RANKS = 3


class Driver:
    """The stand-in for the driver. The host cannot touch its device memory."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        context, device = ctypes.c_void_p(), 0
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, function, *arguments):
        error = getattr(self.library, function)(*arguments)
        if error:
            raise AssertionError(f"{function} gives error {error}")

    def stream(self):
        made = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(made), 1)  # it does not wait for the default stream
        return made.value


class DeviceArray:
    """An array in device memory, as CuPy's. `stream`: of the interface."""

    def __init__(self, driver, values, stream=None, **changes):
        self.driver, self.like, self.stream = driver, np.ascontiguousarray(values), stream
        address = ctypes.c_uint64()
        driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, self.like.nbytes)))
        self.address = address.value
        driver.call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), ctypes.c_void_p(self.like.ctypes.data),
                    ctypes.c_size_t(self.like.nbytes))
        driver.call("cuStreamSynchronize", None)  # the copy may have returned before the bytes were there
        self.__cuda_array_interface__ = {"shape": self.like.shape, "typestr": self.like.dtype.str, "data": (self.address, False),
                                         "strides": None, "version": 3, "stream": stream, **changes}

    def fetched(self):
        """The elements, behind what the stream does."""
        got = np.empty_like(self.like)
        if self.stream is not None:
            self.driver.call("cuStreamSynchronize", ctypes.c_void_p(self.stream))
        self.driver.call("cuMemcpyDtoH_v2", ctypes.c_void_p(got.ctypes.data), ctypes.c_uint64(self.address),
                         ctypes.c_size_t(got.nbytes))
        return got


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _buffers._DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class DeviceTensor(DeviceArray):
    """The same of a library that knows DLPack alone."""

    def __init__(self, driver, values):
        super().__init__(driver, values)
        del self.__cuda_array_interface__
        self.asked_for = []
        self.shape = (ctypes.c_int64 * self.like.ndim)(*self.like.shape)
        self.managed = Managed(_buffers._DLTensor(self.address, 2, 0, self.like.ndim, 2, 8 * self.like.itemsize, 1, self.shape, None, 0))

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, stream=None):
        self.asked_for.append(stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.managed), b"dltensor", None)


def numbers(comm, count):
    return [(np.arange(count) * 3 + 5 * rank) % 17 for rank in range(comm.size)]


def collectives(comm):
    """On rank 0 the array is the work of a stream, on rank 1 it is ready, on rank 2 it lies on the host."""
    driver = Driver()
    stream = driver.stream()

    def place(values):
        return values.copy() if comm.rank == 2 else DeviceArray(driver, values, stream if comm.rank == 0 else None)

    def content(array):
        return array if isinstance(array, np.ndarray) else array.fetched()

    for dtype in ("float32", "int64", "float16"):
        for count in (1, 300, 50000):
            parts = [one.astype(dtype) for one in numbers(comm, count)]
            total = sum(parts).astype(dtype)
            array, result = place(parts[comm.rank]), place(np.zeros(count, dtype))
            comm.all_reduce(array, result)
            assert np.array_equal(content(result), total), (dtype, count)
            request = comm.all_reduce(array, async_op=True)
            request.wait()
            assert np.array_equal(content(array), total), (dtype, count)
            gathered = place(np.zeros(count * comm.size, dtype))
            array = place(parts[comm.rank])
            comm.all_gather(array, gathered)
            assert np.array_equal(content(gathered), np.concatenate(parts)), (dtype, count)
            comm.broadcast(array, root=1)
            assert np.array_equal(content(array), parts[1]), (dtype, count)


def messages(comm):
    driver = Driver()
    stream = driver.stream()
    sent, got = DeviceArray(driver, np.full(5000, comm.rank, "float32"), stream), DeviceArray(driver, np.zeros(5000, "float32"), stream)
    with gossamer.group():
        comm.send(sent, (comm.rank + 1) % comm.size)
        comm.recv(got, (comm.rank - 1) % comm.size)
    assert (got.fetched() == (comm.rank - 1) % comm.size).all()
    try:
        comm.sendrecv(sent, 0, got, 0)
        raise AssertionError("sendrecv took buffers of a stream")
    except gossamer.InvalidArgument as error:
        assert "within a group()" in str(error), error


def synchronizes(comm):
    """Data parallel by the library: arrays on the device get the bits of those on the host."""
    driver = Driver()
    results = []
    for place in (np.array, lambda values: DeviceArray(driver, values)):
        weight, gradient = place(numbers(comm, 5000)[comm.rank].astype("float32")), place(numbers(comm, 5000)[comm.rank].astype("float32"))
        with gossamer.Synchronizer([("weight", weight, gradient)], "ddp", comm=comm) as sync:
            sync.gradients()
            sync.step()
            sync.finish()
        results.append([one if isinstance(one, np.ndarray) else one.fetched() for one in (weight, gradient)])
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0][0], numbers(comm, 5000)[0])


def dlpack(comm):
    driver = Driver()
    tensor = DeviceTensor(driver, np.full(700, comm.rank + 1, "float32"))
    comm.all_reduce(tensor)
    assert (tensor.fetched() == sum(range(1, comm.size + 1))).all()
    assert tensor.asked_for == [None] or set(tensor.asked_for) == {1}, tensor.asked_for


class Torch:
    """What Gossamer asks of torch about a tensor on a CUDA device."""

    class Tensor(DeviceArray):
        layout = "strided"
        device = types.SimpleNamespace(type="cuda", index=0)
        dtype = "torch.float32"

        data_ptr = property(lambda self: lambda: self.address)
        numel = property(lambda self: lambda: self.like.size)
        detach = property(lambda self: lambda: self)
        is_contiguous = property(lambda self: lambda: True)
        is_neg = is_conj = property(lambda self: lambda: False)

    strided = "strided"

    def __init__(self, stream):
        self.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=stream))


def torch_tensors(comm):
    """On rank 0 torch's current stream is one of its own, on the others the default stream, which torch calls 0."""
    driver = Driver()
    stream = driver.stream() if comm.rank == 0 else 0
    sys.modules["torch"] = Torch(stream)
    tensor = Torch.Tensor(driver, np.full(400, comm.rank + 1, "float32"), stream or 1)
    assert _buffers.readable(tensor).stream == (stream or 1)
    for _ in range(3):
        comm.all_reduce(tensor, op="avg")
    assert (tensor.fetched() == (comm.size + 1) / 2).all(), tensor.fetched()


class Device(unittest.TestCase):
    def test_collectives_have_numpys_sums_where_ranks_choose_where_their_arrays_lie(self):
        ranks.run(RANKS, "device_test", "collectives")

    def test_messages(self):
        ranks.run(2, "device_test", "messages")

    def test_synchronizers(self):
        ranks.run(2, "device_test", "synchronizes")

    def test_tensors_of_dlpack(self):
        ranks.run(2, "device_test", "dlpack")

    def test_tensors_of_torch_in_its_current_stream(self):
        ranks.run(2, "device_test", "torch_tensors")

    def test_what_cannot_be_used_is_refused(self):
        driver = Driver()
        values = np.ones(4, "float32")
        with gossamer.init() as comm:
            refused = [
                (gossamer.InvalidArgument, "stream 0", lambda: comm.all_reduce(DeviceArray(driver, values, 0))),
                (gossamer.InvalidArgument, "different CUDA streams",
                 lambda: comm.all_reduce(DeviceArray(driver, values, driver.stream()), DeviceArray(driver, values, driver.stream()))),
                (gossamer.InvalidArgument, "not contiguous", lambda: comm.all_reduce(DeviceArray(driver, values, strides=(8,)))),
                (gossamer.InvalidArgument, "read-only", lambda: comm.all_reduce(
                    DeviceArray(driver, values, data=(DeviceArray(driver, values).address, True)))),
                (TypeError, "mask", lambda: comm.all_reduce(DeviceArray(driver, values, mask=values))),
                (TypeError, "on a CUDA device", lambda: comm.codec_state_read(1, DeviceArray(driver, values))),
            ]
            for error, words, call in refused:
                with self.assertRaisesRegex(error, words):
                    call()


if __name__ == "__main__":
    unittest.main()
