"""Every collective and message, of every type, in place and not, against numpy."""

import threading
import unittest

import gossamer
import numpy as np
import ranks

INTEGERS = ("int8", "uint8", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2")
ARITHMETIC = {"sum": sum, "prod": lambda parts: np.prod(parts, axis=0), "min": lambda parts: np.min(parts, axis=0),
              "max": lambda parts: np.max(parts, axis=0), "avg": lambda parts: sum(parts) / len(parts),
              "premul_sum": lambda parts: 2 * sum(parts)}
BITWISE = {"band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor}
LOGICAL = {"land": np.logical_and, "lor": np.logical_or, "lxor": np.logical_xor}


def minifloats(exponent_bits, mantissa_bits, bias):
    """Values of the positive bit patterns of an 8-bit float, in order."""
    values = []
    for bits in range(2 ** (exponent_bits + mantissa_bits)):
        exponent, mantissa = bits >> mantissa_bits, bits % 2**mantissa_bits
        leading = 1 if exponent else 0
        values.append((leading + mantissa / 2**mantissa_bits) * 2.0 ** (max(exponent, 1) - bias))
    return np.array(values)


TABLES = {"float8_e4m3fn": minifloats(4, 3, 7), "float8_e5m2": minifloats(5, 2, 15)}


def encode(values, dtype):
    """A buffer of `dtype`, and what is to be handed to Gossamer. Types that numpy lacks are bits in integers."""
    if dtype == "bfloat16":
        bits = (np.asarray(values, "float32").view("uint32") >> 16).astype("uint16")
        return bits, gossamer.as_dtype(bits, dtype)
    if dtype in TABLES:
        bits = np.searchsorted(TABLES[dtype], np.asarray(values, "float64")).astype("uint8")
        return bits, gossamer.as_dtype(bits, dtype)
    array = np.asarray(values).astype(dtype)
    return array, array


def decode(array, dtype):
    if dtype == "bfloat16":
        return (array.astype("uint32") << 16).view("float32")
    return TABLES[dtype][array] if dtype in TABLES else array


def operations(dtype, is_scan=False):
    """name -> reduction of a list of arrays."""
    found = {}
    if dtype == "bool":
        found = {"min": ARITHMETIC["min"], "max": ARITHMETIC["max"]}
    else:
        found = {name: rule for name, rule in ARITHMETIC.items()
                 if not (name == "premul_sum" and dtype in INTEGERS) and not (name == "avg" and is_scan)}
    if dtype not in FLOATS:
        tables = [LOGICAL] if dtype == "bool" else [LOGICAL, BITWISE]
        for table in tables:
            found.update({name: rule.reduce for name, rule in table.items()})
    return found


def contribution(rank, count, dtype):
    """Small numbers, whose sums, products and means by 1, 2 or 4 ranks every type holds exactly."""
    whole = (np.arange(count) + rank) % 2
    return whole if dtype == "bool" else whole + 1


class Case:
    """One type on one rank: calls a collective both ways and compares."""

    def __init__(self, comm, dtype):
        self.comm, self.dtype = comm, dtype

    def parts(self, count):
        return [contribution(rank, count, self.dtype) for rank in range(self.comm.size)]

    def expect(self, got, wanted, what):
        wanted, _ = encode(wanted, self.dtype)
        assert np.array_equal(got, wanted), f"{what} {self.dtype} rank {self.comm.rank}: {got} instead of {wanted}"

    def both(self, what, send, in_place, wanted, call):
        """`call(send, recv)` between two buffers, then `in_place(buffer)`; either gives `wanted`."""
        given, handed = encode(send, self.dtype)
        before = given.copy()
        got, place = encode(np.zeros(len(wanted)), self.dtype)
        call(handed, place)
        self.expect(got, wanted, what)
        assert np.array_equal(given, before), f"{what}: the send buffer was written"
        if in_place is not None:
            self.expect(in_place(send), wanted, what + " in place")


def reductions(case, name, rule):
    comm, count = case.comm, 7
    parts = case.parts(count)
    extra = {"scale": 2.0} if name == "premul_sum" else {}
    if name == "avg" and (comm.size == 3 or case.dtype in INTEGERS):
        return  # thirds are rounded; integers are truncated
    if comm.size == 1 and name != "premul_sum":
        def rule(listed):  # an element to which one rank alone contributes is copied as it is
            return listed[0]
    wanted = rule(parts)

    def place(function, **more):
        def run(send):
            buffer, handed = encode(send, case.dtype)
            function(handed, op=name, **more, **extra)
            return buffer
        return run

    case.both("all_reduce " + name, parts[comm.rank], place(comm.all_reduce), wanted,
              lambda send, recv: comm.all_reduce(send, recv, name, **extra))
    for root in range(comm.size):
        if comm.rank == root:
            case.both("reduce " + name, parts[root], place(comm.reduce, root=root), wanted,
                      lambda send, recv, root=root: comm.reduce(send, recv, name, root, **extra))
        else:
            for _ in range(2):
                comm.reduce(encode(parts[comm.rank], case.dtype)[1], None, name, root, **extra)
    many = case.parts(count * comm.size)
    mine = slice(comm.rank * count, (comm.rank + 1) * count)
    case.both("reduce_scatter " + name, many[comm.rank], lambda send: place(comm.reduce_scatter)(send)[mine], rule(many)[mine],
              lambda send, recv: comm.reduce_scatter(send, recv, name, **extra))
    counts = [rank + 1 for rank in range(comm.size)]
    uneven = case.parts(sum(counts))
    begin = sum(counts[:comm.rank])
    case.both("reduce_scatterv " + name, uneven[comm.rank], None, rule(uneven)[begin:begin + counts[comm.rank]],
              lambda send, recv: comm.reduce_scatterv(send, recv, counts, name, **extra))


def scans(case, name, rule):
    comm, count = case.comm, 5
    parts = case.parts(count)
    extra = {"scale": 2.0} if name == "premul_sum" else {}
    if comm.size > 1 and not (name == "premul_sum" and comm.rank == 0):  # the first is copied as it is
        got, place = encode(np.zeros(count), case.dtype)
        comm.scan(encode(parts[comm.rank], case.dtype)[1], place, name, **extra)
        case.expect(got, rule(parts[:comm.rank + 1]) if comm.rank else parts[0], "scan " + name)
    elif comm.size > 1:
        comm.scan(encode(parts[comm.rank], case.dtype)[1], None, name, **extra)
    buffer, handed = encode(parts[comm.rank], case.dtype)
    comm.exscan(handed, None, name, **extra)
    if comm.rank != 1 or name not in ("premul_sum", "land", "lor", "lxor"):
        case.expect(buffer, rule(parts[:comm.rank]) if comm.rank > 1 else parts[0], "exscan " + name)


def moves(case):
    comm, count = case.comm, 6
    parts = case.parts(count)
    mine = slice(comm.rank * count, (comm.rank + 1) * count)
    wanted = np.concatenate(parts)

    def gathered(_, function=comm.all_gather, **more):
        whole = np.zeros(count * comm.size)
        whole[mine] = parts[comm.rank]
        buffer, handed = encode(whole, case.dtype)
        function(None, handed, **more)
        return buffer

    case.both("all_gather", parts[comm.rank], gathered, wanted, comm.all_gather)
    counts = [rank + 1 for rank in range(comm.size)]
    uneven = [contribution(rank, counts[rank], case.dtype) for rank in range(comm.size)]
    case.both("all_gatherv", uneven[comm.rank], None, np.concatenate(uneven),
              lambda send, recv: comm.all_gatherv(send, recv, counts))
    blocks = case.parts(count * comm.size)

    def exchanged(send):
        buffer, handed = encode(send, case.dtype)
        comm.all_to_all(handed)
        return buffer

    case.both("all_to_all", blocks[comm.rank], exchanged, np.concatenate([block[mine] for block in blocks]), comm.all_to_all)
    to = [comm.rank + other + 1 for other in range(comm.size)]
    case.both("all_to_allv", contribution(comm.rank, sum(to), case.dtype), None,
              np.concatenate([contribution(other, sum(other + each + 1 for each in range(comm.size)), case.dtype)
                              [sum(other + each + 1 for each in range(comm.rank)):][:to[other]] for other in range(comm.size)]),
              lambda send, recv: comm.all_to_allv(send, recv, to, to))
    for root in range(comm.size):
        buffer, handed = encode(parts[comm.rank], case.dtype)
        comm.broadcast(handed, root)
        case.expect(buffer, parts[root], "broadcast")
        if comm.rank == root:
            case.both("gather", parts[root], lambda _, root=root: gathered(_, comm.gather, root=root), wanted,
                      lambda send, recv, root=root: comm.gather(send, recv, root))
        else:
            for _ in range(2):
                comm.gather(encode(parts[comm.rank], case.dtype)[1], None, root)
        scattered = contribution(root, count * comm.size, case.dtype)
        got, place = encode(np.zeros(count), case.dtype)
        comm.scatter(encode(scattered, case.dtype)[1] if comm.rank == root else None, place, root)
        case.expect(got, scattered[mine], "scatter")


def messages(case):
    comm = case.comm
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    got, place = encode(np.zeros(9), case.dtype)
    message = comm.sendrecv(encode(contribution(comm.rank, 5, case.dtype), case.dtype)[1], after, place, before, tag=3)
    assert (message.source, message.tag, message.nbytes) == (before, 3, 5 * got.itemsize), message
    case.expect(got[:5], contribution(before, 5, case.dtype), "sendrecv")
    with gossamer.group():  # blocking receives before the sends that they wait for
        comm.recv(place, before, 4)
        comm.send(encode(contribution(comm.rank, 9, case.dtype), case.dtype)[1], after, 4)
    case.expect(got, contribution(before, 9, case.dtype), "send and recv")


def matrix(comm):
    """Runs every case for every type, on the ranks of one communicator."""
    assert comm.size == 1 or comm.transport((comm.rank + 1) % comm.size) != "self"
    for dtype in gossamer.DTYPES:
        case = Case(comm, dtype)
        for name, rule in operations(dtype).items():
            reductions(case, name, rule)
        for name, rule in operations(dtype, is_scan=True).items():
            scans(case, name, rule)
        moves(case)
        messages(case)
    comm.barrier()
    assert comm.counters().operations > 0 and comm.counters().failures == 0
    assert comm.error is None


def options(comm):
    """Codecs, algorithms, requests and communicators of communicators."""
    everyone = comm.size * (comm.size + 1) / 2
    values = np.full(100_000, comm.rank + 1, "float32")
    comm.all_reduce(values, codec="int8:block=256+ef", tensor=7)
    assert abs(values - everyone).max() < 0.2
    assert len(comm.codec_state_export()) > 400_000  # feedback is kept for tensor 7
    comm.codec_state_import(comm.codec_state_export())
    comm.codec_state_reset()
    values = np.full(1000, comm.rank + 1, "float32")
    comm.all_reduce(values, algorithm="ring", timeout=30)
    assert (values == everyone).all()

    values[:] = comm.rank + 1
    request = comm.all_reduce(values, persistent=True)
    for _ in range(3):
        values[:] = comm.rank + 1
        assert request.start().wait() is None
        assert (values == everyone).all()
    request.free()

    many = [np.full(10_000, comm.rank + turn, "int32") for turn in range(8)]
    requests = [comm.all_reduce(one, async_op=True) for one in many]
    assert 0 <= gossamer.wait_any(requests) < 8
    gossamer.wait_all(requests)
    assert all((one == comm.size * turn + everyone - comm.size).all() for turn, one in enumerate(many))

    half = comm.split(comm.rank % 2, key=-comm.rank)  # in reverse order
    assert half.size == len(range(comm.rank % 2, comm.size, 2))
    sums = np.array([comm.rank], "int64")
    half.all_reduce(sums)
    assert sums[0] == sum(range(comm.rank % 2, comm.size, 2))
    half.close()
    assert comm.split(-1 if comm.rank else 0) is None or comm.rank == 0
    with comm.dup() as twin:
        twin.barrier()
        assert twin.rank == comm.rank

    if comm.rank == 0:
        assert comm.iprobe(tag=99) is None
        for peer in range(1, comm.size):
            message = comm.probe(tag=5, timeout=30)
            got = np.zeros(3, "uint8")
            assert comm.recv(got, message.source, 5).message == message
            assert (got == message.source).all()
    else:
        comm.send(np.full(3, comm.rank, "uint8"), 0, 5)

    shared = np.frombuffer(comm.allocate(4096), "float32")
    shared[:] = 1
    comm.all_reduce(shared)
    assert (shared == comm.size).all()
    del shared
    assert comm.trials()["plans_tried"] == 0 and not comm.trials()["compares"]
    assert "link" in comm.measure_links(timeout=30) or comm.size == 1


def neighbors(comm):
    star = gossamer.Topology("star", comm.size)
    assert star.describe()["symmetric"] and star.period == 1
    mine = star.neighbors(0, comm.rank)
    vectors = [np.arange(6, dtype="float64") + 10 * rank for rank in range(comm.size)]
    own = vectors[comm.rank].copy()
    comm.neighbor_all_reduce(own, neighborhood=mine)
    np.testing.assert_allclose(own, sum(star.weight(0, comm.rank, rank) * vectors[rank] for rank in range(comm.size)), rtol=1e-15)

    own = vectors[comm.rank]
    blocks = np.zeros((len(mine.sources), 6))
    comm.neighbor_all_gather(own, blocks, neighborhood=mine)
    np.testing.assert_array_equal(blocks, [vectors[rank] for rank, _ in mine.sources])
    blocks[:] = 0
    comm.neighbor_all_gatherv(own, blocks, [6] * len(mine.sources), neighborhood=mine, async_op=True).wait()
    np.testing.assert_array_equal(blocks, [vectors[rank] for rank, _ in mine.sources])

    sent = np.array([[comm.rank, rank] for rank, _ in mine.destinations], "int32")
    received = np.zeros((len(mine.sources), 2), "int32")
    comm.neighbor_all_to_all(sent, received, neighborhood=mine)
    np.testing.assert_array_equal(received, [[rank, comm.rank] for rank, _ in mine.sources])
    received[:] = 0
    counts = [2] * len(mine.sources)
    comm.neighbor_all_to_allv(sent, received, counts, counts, neighborhood=mine)
    np.testing.assert_array_equal(received, [[rank, comm.rank] for rank, _ in mine.sources])
    try:
        comm.neighbor_all_gather(own, blocks[:, :3].copy(), neighborhood=mine)
        raise AssertionError("accepted")
    except gossamer.InvalidArgument:
        pass


class Matrix(unittest.TestCase):
    def test_neighbors(self):
        ranks.run(3, "collectives_test", "neighbors")

    def test_agrees_with_numpy_on_one_rank(self):
        ranks.run(1, "collectives_test", "matrix")

    def test_agrees_with_numpy_on_two_ranks(self):
        ranks.run(2, "collectives_test", "matrix")

    def test_agrees_with_numpy_on_three_ranks(self):
        ranks.run(3, "collectives_test", "matrix")

    def test_agrees_with_numpy_on_four_ranks(self):
        ranks.run(4, "collectives_test", "matrix")

    def test_options_requests_and_communicators(self):
        ranks.run(4, "collectives_test", "options")

    def test_ranks_may_be_threads(self):
        unique_id = gossamer.UniqueId()
        sums = []

        def body(rank):
            with gossamer.init(rank, 3, bytes(unique_id) if rank else unique_id, timeout=30) as comm:
                value = np.array([rank + 1], "int32")
                comm.all_reduce(value)
                sums.append(value[0])

        threads = [threading.Thread(target=body, args=(rank,)) for rank in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(sums, [6, 6, 6])


if __name__ == "__main__":
    unittest.main()
