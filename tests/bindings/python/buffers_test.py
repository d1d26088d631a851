"""Which buffers are taken without a copy, and what the refusal of others says."""

import array
import ctypes
import gc
import mmap
import sys
import unittest

import gossamer
import numpy as np
from gossamer import _buffers


class Interface:
    """An array of another library, as __array_interface__ shows it."""

    def __init__(self, owner, **changes):
        self.owner = owner
        self.__array_interface__ = {**owner.__array_interface__, **changes}


class Bfloat16Array(Interface):
    """An array as those of ml_dtypes: a void type whose name tells what it is."""

    class dtype:  # pylint: disable=invalid-name
        name = "bfloat16"


class Tensor:
    """An array of another library that knows DLPack alone; numpy lends it its capsules."""

    def __init__(self, owner, device=1):
        self.owner, self.device = owner, device

    def __dlpack__(self, stream=None):
        return self.owner.__dlpack__()

    def __dlpack_device__(self):
        return (self.device, 0)


class Buffers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.comm = gossamer.init()

    @classmethod
    def tearDownClass(cls):
        cls.comm.close()

    def refused(self, error, words, buffer, call=None):
        operations = self.comm.counters().operations
        with self.assertRaisesRegex(error, words):
            (call or self.comm.all_reduce)(buffer)
        self.assertEqual(self.comm.counters().operations, operations)

    def moved(self, source, target):
        self.comm.all_reduce(source, target)

    def test_takes_the_buffer_protocol(self):
        numbers = np.arange(6, dtype="float32")
        for target in (np.zeros(6, "float32"), array.array("f", bytes(24)), (ctypes.c_float * 6)(),
                       memoryview(bytearray(24)).cast("f"), gossamer.as_dtype(bytearray(24), "float32"),
                       gossamer.as_dtype(mmap.mmap(-1, 24), "float32")):
            self.moved(numbers, target)
            got = target.buffer if isinstance(target, gossamer.as_dtype(b"", "int8").__class__) else target
            self.assertEqual(np.frombuffer(got, "float32").tolist(), numbers.tolist())

    def test_takes_read_only_sources(self):
        target = bytearray(3)
        self.moved(b"abc", target)
        self.assertEqual(target, b"abc")
        numbers = np.arange(3.0)
        numbers.flags.writeable = False
        self.moved(numbers, np.zeros(3))

    def test_takes_array_interface(self):
        numbers, target = np.arange(4, dtype="float64"), np.zeros(4)
        self.moved(Interface(numbers), Interface(target))
        self.assertEqual(target.tolist(), numbers.tolist())
        bits, got = np.array([0x3F80, 0x4000], "uint16"), np.zeros(2, "uint16")
        self.moved(Bfloat16Array(bits, typestr="<V2"), Bfloat16Array(got, typestr="<V2"))
        self.assertEqual(got.tolist(), bits.tolist())

    def test_takes_dlpack(self):
        numbers, target = np.arange(12, dtype="int64").reshape(3, 4), np.zeros((3, 4), "int64")
        self.moved(Tensor(numbers), Tensor(target))
        self.assertEqual(target.tolist(), numbers.tolist())
        self.refused(gossamer.InvalidArgument, "not contiguous", Tensor(target.T))
        self.refused(TypeError, "memory of the host and of CUDA devices", Tensor(target, device=4))
        self.refused(gossamer.Unsupported, "uses no devices", Tensor(target, device=2))

    def test_refuses_vectors_of_dlpack(self):
        class Vectors(Tensor):
            """Elements of four lanes of int8, which are no int32."""

            def __dlpack__(self, stream=None):
                capsule = self.owner.__dlpack__()
                pointer = _buffers._capsule_pointer(capsule, b"dltensor")
                tensor = _buffers._DLTensor.from_address(pointer)
                tensor.bits, tensor.lanes = 8, 4
                return capsule

        self.refused(TypeError, "int8x4", Vectors(np.zeros(3, "int32")))

    def test_refuses_an_interface_without_an_address(self):
        for data in (None, bytearray(24)):
            self.refused(TypeError, "no address", Interface(np.zeros(3), data=data))

    def test_refuses_memory_that_is_not_aligned(self):
        crooked = np.frombuffer(bytearray(25), "uint8")[1:].view("float64")
        self.refused(gossamer.InvalidArgument, "multiple of 8", crooked)
        self.refused(gossamer.InvalidArgument, "multiple of 8", Interface(crooked))

    def test_takes_shapes_of_any_rank_and_no_elements(self):
        for shape in ((), (2, 3), (0,), (1, 5, 1)):
            target = np.zeros(shape, "int32")
            self.moved(np.ones(shape, "int32"), target)
            self.assertTrue((target == 1).all())

    def test_refuses_what_is_no_buffer(self):
        for bad in ([1, 2], "text", 3.0, None, object()):
            self.refused(TypeError, "numpy.asarray", bad)

    def test_refuses_types_that_it_lacks(self):
        self.refused(TypeError, "complex|Zd", np.zeros(3, "complex128"))
        self.refused(TypeError, "int16.*convert", np.zeros(3, "int16"))
        self.refused(TypeError, "big-endian", np.zeros(3, ">f4"))
        self.refused(TypeError, "M8|datetime", np.zeros(3, "datetime64[s]"))
        self.refused(TypeError, "O", np.array([None]))
        self.refused(TypeError, "type int32.*type float32", np.zeros(3, "int32"),
                     lambda buffer: self.comm.all_reduce(buffer, np.zeros(3, "float32")))
        self.refused(gossamer.InvalidArgument, "no type", bytearray(4), lambda buffer: gossamer.as_dtype(buffer, "float7"))
        self.refused(gossamer.InvalidArgument, "cannot be read", np.zeros(4, "float32"),
                     lambda buffer: self.comm.all_reduce(gossamer.as_dtype(buffer, "bfloat16")))

    def test_refuses_what_is_not_contiguous(self):
        self.refused(gossamer.InvalidArgument, "ascontiguousarray", np.zeros(8)[::2])
        self.refused(gossamer.InvalidArgument, "ascontiguousarray", np.zeros((2, 3)).T)
        self.refused(gossamer.InvalidArgument, "ascontiguousarray", Interface(np.zeros(8)[::2]))

    def test_refuses_receiving_into_read_only_memory(self):
        numbers = np.zeros(3)
        numbers.flags.writeable = False
        for bad in (b"abc", numbers, Interface(numbers)):
            self.refused(gossamer.InvalidArgument, "read-only", bad)
            self.refused(gossamer.InvalidArgument, "read-only", bad, lambda buffer: self.comm.recv(buffer, 0))

    def test_refuses_what_was_freed(self):
        view = memoryview(bytearray(4))
        view.release()
        self.refused(gossamer.InvalidArgument, "any more", view)
        mapped = mmap.mmap(-1, 4)
        mapped.close()
        self.refused(gossamer.InvalidArgument, "any more", mapped)

    def test_refuses_sizes_that_do_not_fit(self):
        comm = self.comm
        self.refused(gossamer.InvalidArgument, "3 elements, the receive buffer 4", np.zeros(3),
                     lambda buffer: comm.all_reduce(buffer, np.zeros(4)))
        self.refused(gossamer.InvalidArgument, "times as many", np.zeros(3), lambda buffer: comm.all_gather(buffer, np.zeros(4)))
        self.refused(gossamer.InvalidArgument, "but it has 3 elements", np.zeros(3),
                     lambda buffer: comm.all_gatherv(np.zeros(4), buffer, [4]))
        self.refused(gossamer.InvalidArgument, "one for each rank", np.zeros(3),
                     lambda buffer: comm.all_to_allv(buffer, np.zeros(3), [1, 2], [3]))

    def test_refuses_buffers_that_overlap(self):
        whole = np.zeros(9)
        self.refused(gossamer.InvalidArgument, "overlap", whole, lambda buffer: self.comm.all_reduce(buffer[:6], buffer[3:]))
        self.moved(whole[:3], whole[3:6])

    def test_refuses_wrong_words(self):
        zeros = np.zeros(3)
        self.refused(gossamer.InvalidArgument, "'add'.*there are sum", zeros, lambda buffer: self.comm.all_reduce(buffer, op="add"))
        self.refused(TypeError, "'codecs'.*codec", zeros, lambda buffer: self.comm.all_reduce(buffer, codecs="fp16"))
        self.refused(gossamer.InvalidArgument, "nosuch", zeros, lambda buffer: self.comm.all_reduce(buffer, algorithm="nosuch"))
        self.refused(gossamer.InvalidArgument, "below 2.31", zeros, lambda buffer: self.comm.send(buffer, 0, 2**32))
        self.refused(gossamer.InvalidArgument, "rank", zeros, lambda buffer: self.comm.broadcast(buffer, 1))
        with self.assertRaisesRegex(TypeError, "'colour'"):
            gossamer.init(colour=1)
        with self.assertRaisesRegex(gossamer.InvalidArgument, "GOSS_TRANSPORT|transport"):
            gossamer.check_settings(transport="pigeon")

    def test_keeps_a_buffer_while_it_is_lent(self):
        target = bytearray(8)
        request = self.comm.recv(target, 0, 1, async_op=True)
        with self.assertRaises(BufferError):
            target.extend(b"more")  # would move the memory
        references = sys.getrefcount(target)
        self.comm.send(b"01234567", 0, 1)
        self.assertEqual(request.wait(), gossamer.Message(0, 1, 8))
        self.assertEqual(target, b"01234567")
        target.extend(b"more")
        self.assertLessEqual(sys.getrefcount(target), references)

    def test_keeps_a_buffer_whose_request_was_dropped(self):
        request = self.comm.recv(bytearray(8), 0, 2, async_op=True)
        del request
        gc.collect()
        self.comm.send(b"01234567", 0, 2)
        self.comm.barrier()
        self.comm.barrier()
        self.assertEqual(len(self.comm._pending), 0)

    def test_the_library_tells_what_it_has(self):
        stages = {one["name"]: one["stage"] for one in gossamer.codecs()}
        self.assertEqual([stages[name] for name in ("topk", "int8", "ef")], ["sparsifier", "values", "feedback"])
        self.assertTrue(all("spec" in one for one in gossamer.codecs() if one["stage"] == "alias"))
        self.assertIn("diloco", [method["name"] for method in gossamer.sync_methods()])
        self.assertIn("candidates", gossamer.explain("allreduce", 4, 1 << 20))
        self.assertIn("candidates", gossamer.explain("allreduce", 4, 1 << 20, codec="int8"))
        with self.assertRaises(gossamer.InvalidArgument):
            gossamer.explain("allsing", 4, 1)

    def test_importing_loads_no_large_package(self):
        import subprocess  # pylint: disable=import-outside-toplevel

        code = "import sys, gossamer; sys.exit(bool({'numpy', 'torch', 'asyncio'} & set(sys.modules)))"
        self.assertEqual(subprocess.run([sys.executable, "-B", "-c", code], check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
