"""libnccl.so.2 as the wrappers of vLLM and CuPy take it: they bind all their names when they are imported, and one that is missing
fails the import. Then a communicator of one rank works through ctypes, which passes the unique id by value.

    LD_LIBRARY_PATH=STANDIN wrappers.py LIBNCCL
"""

import ctypes
import sys

# What each binds in any of its versions.
VLLM = """GetErrorString GetVersion GetUniqueId CommInitRank AllReduce Reduce AllGather ReduceScatter Send Recv Broadcast CommDestroy CommAbort
    GroupStart GroupEnd CommWindowRegister CommWindowDeregister CommSuspend CommResume CommMemStats MemAlloc MemFree""".split()
CUPY = """GetErrorString GetVersion CommGetAsyncError GetUniqueId CommInitRank CommInitRankConfig CommInitAll CommSplit CommFinalize GroupStart
    GroupEnd CommDestroy CommAbort CommCuDevice CommUserRank CommCount AllReduce Reduce Broadcast Bcast ReduceScatter AllGather Send
    Recv""".split()
FLOAT32, SUM = 7, 0
COUNT = 1000


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


def main():
    driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(sys.argv[1])
    missing = [name for name in dict.fromkeys(VLLM + CUPY) for prefix in ("nccl", "pnccl") if not hasattr(library, prefix + name)]
    assert not missing, f"{sys.argv[1]} lacks {missing}"

    text = library.ncclGetErrorString
    text.restype = ctypes.c_char_p

    def check(result):
        assert result == 0, text(result).decode()

    version, count = ctypes.c_int(), ctypes.c_int()
    check(library.ncclGetVersion(ctypes.byref(version)))
    assert version.value >= 22809, version.value
    unique_id, comm = UniqueId(), ctypes.c_void_p()
    check(library.ncclGetUniqueId(ctypes.byref(unique_id)))
    library.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
    check(library.ncclCommInitRank(ctypes.byref(comm), 1, unique_id, 0))
    check(library.ncclCommCount(comm, ctypes.byref(count)))
    assert count.value == 1

    source, result = ctypes.c_uint64(), ctypes.c_uint64()
    vector = (ctypes.c_float * COUNT)(*range(COUNT))
    for memory in (source, result):
        assert driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.sizeof(vector)) == 0
    assert driver.cuMemcpyHtoD_v2(source, vector, ctypes.c_size_t(ctypes.sizeof(vector))) == 0
    size = ctypes.c_size_t(COUNT)
    check(library.ncclAllReduce(ctypes.c_void_p(source.value), ctypes.c_void_p(result.value), size, FLOAT32, SUM, comm, None))
    back = (ctypes.c_float * COUNT)()
    assert driver.cuMemcpyDtoH_v2(back, result, ctypes.c_size_t(ctypes.sizeof(back))) == 0
    assert list(back) == list(vector)
    check(library.ncclCommDestroy(comm))


if __name__ == "__main__":
    main()
