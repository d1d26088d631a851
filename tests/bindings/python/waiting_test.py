"""Waiting: Ctrl-C, asyncio, threads, fork, the end of the interpreter, and lost ranks."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import gossamer
import numpy as np
import ranks


def interrupted(comm):
    """Ctrl-C while rank 0 waits for something that never comes."""
    if comm.rank == 0:
        for wait in (lambda: comm.recv(np.zeros(1), 1, 7), lambda: comm.barrier(), lambda: comm.probe(1, 8), comm.dup):
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            began = time.monotonic()
            try:
                wait()
                raise AssertionError("it came")
            except KeyboardInterrupt:
                assert time.monotonic() - began < 5
        comm.send(b"go", 1, 9)
        comm.recv(bytearray(1), 1, 10)
    else:
        comm.recv(bytearray(2), 0, 9)
        comm.barrier()  # completes the one that Ctrl-C left
        comm.dup()
        comm.send(b"x", 0, 10)


def awaited(comm):
    """Requests under asyncio, many at a time, and an event loop that is not held up."""
    before = comm.all_reduce(np.ones(1000), async_op=True)  # started before the descriptor was made

    async def body():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.ensure_future(tick())
        await before
        vectors = [np.full(50_000, comm.rank + turn, "float32") for turn in range(8)]
        await asyncio.gather(*[comm.all_reduce(one, async_op=True) for one in vectors])
        for turn, one in enumerate(vectors):
            assert (one == sum(rank + turn for rank in range(comm.size))).all()
        for turn in range(200):
            small = np.array([1.0])
            await comm.all_reduce(small, async_op=True)
            assert small[0] == comm.size
        if comm.rank == 0:
            await asyncio.sleep(0.3)
            comm.send(b"x", 1)
        elif comm.rank == 1:
            seen = ticks
            assert (await comm.recv(bytearray(1), 0, async_op=True)).nbytes == 1
            assert ticks - seen > 3
        ticking.cancel()
        short = comm.recv(bytearray(1), comm.rank, 3, async_op=True, timeout=0.2)
        try:
            await short
            raise AssertionError("it came")
        except gossamer.Timeout:
            pass

    asyncio.run(body())


def threaded(comm):
    """Threads with communicators of their own, and one that waits while another thread closes."""
    twins = [comm.dup() for _ in range(4)]
    errors = []

    def body(twin):
        try:
            for _ in range(50):
                value = np.ones(300)
                twin.all_reduce(value)
                assert (value == comm.size).all()
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=body, args=(twin,)) for twin in twins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors

    def stuck():
        try:
            twins[0].recv(np.zeros(1), twins[0].rank)
        except gossamer.Aborted:
            errors.append("closed")

    kept = twins[1].recv(np.zeros(1), twins[1].rank, persistent=True)
    kept._operation.waiter = -1  # as when another thread waits in the library, which has completed it, and has not come back
    try:
        kept.free()
        raise AssertionError("it was freed")
    except gossamer.InvalidArgument as error:
        assert "another thread" in str(error), error
    kept._operation.waiter = 0
    kept.free()

    thread = threading.Thread(target=stuck)
    thread.start()
    time.sleep(0.1)
    twins[0].close()
    thread.join(10)
    assert errors == ["closed"], errors
    try:
        twins[0].barrier()
        raise AssertionError("it is closed")
    except gossamer.Aborted:
        pass
    comm.barrier()


def forked(comm):
    """A child that inherits a communicator, with an operation pending and a thread that holds a lock."""
    value = np.zeros(2)
    pending = comm.recv(value, (comm.rank + 1) % comm.size, 5, async_op=True)
    thread = threading.Thread(target=lambda: pending.wait(20), daemon=True)
    thread.start()
    child = os.fork()
    if child == 0:
        try:
            comm.barrier()
        except gossamer.InvalidArgument as error:
            with gossamer.init(0, 1, gossamer.UniqueId()) as alone:
                alone.barrier()
            comm.close()
            os._exit(7 if "fork" in error.text else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    comm.send(np.ones(2), (comm.rank - 1) % comm.size, 5)
    thread.join(20)
    assert (value == 1).all()
    comm.barrier()


def ends_with_requests(comm):
    """The interpreter ends while operations are pending, also in a thread, and communicators are open."""
    other = comm.dup()
    kept = [other.recv(np.zeros(100_000), other.rank, tag, async_op=True) for tag in range(10)]
    threading.Thread(target=kept[0].wait, daemon=True).start()
    threading.Thread(target=lambda: other.probe(other.rank, 77), daemon=True).start()
    third = comm.dup()
    if comm.rank == 0:
        threading.Thread(target=third.dup, daemon=True).start()
    time.sleep(0.1)
    globals()["kept"] = kept
    if comm.rank == 0:
        comm.close()
    sys.stdout.flush()


def loses_a_rank(comm):
    """The last rank is killed; the others raise an exception that names it, and go on without it."""
    comm.barrier()
    last = comm.size - 1
    if comm.rank == last:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    value = np.ones(1000)
    began = time.monotonic()
    try:
        while True:
            comm.all_reduce(value)
    except gossamer.PeerLost as error:
        assert error.rank == last, error
        assert time.monotonic() - began < 2.5
        assert isinstance(error, ConnectionError) and error.status == -5
    assert comm.error.rank == last
    with comm.shrink(timeout=20) as rest:
        assert rest.size == last
        value[:] = 1
        rest.all_reduce(value)
        assert (value == last).all()


def errors(comm):
    """Statuses become exceptions that say who is to blame."""
    with comm.dup() as one:  # a deadline names the rank that has not come
        if comm.rank == 1:
            comm.recv(bytearray(1), 0, 1)
        else:
            try:
                one.barrier(timeout=0.5)
                raise AssertionError("it ended")
            except gossamer.Timeout as error:
                assert error.rank == 1 and isinstance(error, TimeoutError), (error.rank, error)
            comm.send(b"x", 1, 1)
    with comm.dup() as two:  # calls that do not match
        try:
            two.all_reduce(np.ones(3 + comm.rank))
            two.barrier()
            raise AssertionError("they match")
        except gossamer.Mismatch as error:
            assert "all_reduce" in error.text, error
    with comm.dup() as three:  # abort
        if comm.rank == 0:
            three.abort("enough")
        try:
            three.recv(bytearray(1), 1 - comm.rank)
            raise AssertionError("it came")
        except gossamer.Aborted as error:
            assert error.rank == 0 and "enough" in error.text, error
    if comm.rank == 0:  # a message that is too long fails alone
        comm.send(bytearray(8), 1, 2)
    else:
        try:
            comm.recv(bytearray(4), 0, 2)
            raise AssertionError("it fits")
        except gossamer.Truncated:
            pass
    if comm.rank == 0:  # the limit of a wait is no deadline of the operation
        request = comm.recv(bytearray(1), 1, 3, async_op=True)
        try:
            request.wait(timeout=0.05)
            raise AssertionError("it came")
        except gossamer.Timeout:
            assert not request.test()
        comm.send(b"go", 1, 4)
        assert request.wait().nbytes == 1
        try:
            comm.probe(1, 5, timeout=0.05)
            raise AssertionError("it came")
        except gossamer.Timeout as error:
            assert error.rank == 1
    else:
        comm.recv(bytearray(2), 0, 4)
        comm.send(b"y", 0, 3)
    comm.barrier()


def sums(comm):
    value = np.array([comm.rank + 1])
    comm.all_reduce(value)
    print(f"rank {comm.rank} of {comm.size}: {value[0]}")


class Waiting(unittest.TestCase):
    def test_ctrl_c_ends_a_wait(self):
        ranks.run(2, "waiting_test", "interrupted")

    def test_requests_are_awaited(self):
        ranks.run(3, "waiting_test", "awaited")

    def test_threads_share_communicators(self):
        ranks.run(2, "waiting_test", "threaded")

    def test_a_forked_child_is_refused(self):
        ranks.run(2, "waiting_test", "forked")

    def test_the_interpreter_ends_with_requests_pending(self):
        ranks.run(2, "waiting_test", "ends_with_requests", timeout=30)

    def test_a_killed_rank_is_named(self):
        ranks.finish(ranks.body(3, "waiting_test", "loses_a_rank"), codes=[0, 0, -signal.SIGKILL])

    def test_errors_are_exceptions(self):
        ranks.run(2, "waiting_test", "errors")

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_mpirun_says_who_the_ranks_are(self):
        done = subprocess.run(["mpirun", "-np", "3", sys.executable, "-B", os.path.join(ranks.HERE, "ranks.py"), "waiting_test", "sums"],
                              capture_output=True, text=True, check=False, timeout=60,
                              env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                       OMPI_MCA_rmaps_base_oversubscribe="1"))
        # mpirun may put what one rank prints into another rank's line.
        self.assertEqual(sorted(re.findall(r"rank \d of 3: \d+", done.stdout)), [f"rank {rank} of 3: 6" for rank in range(3)], done.stderr)

    def test_a_rank_that_does_not_come_is_named(self):
        unique_id = gossamer.UniqueId()
        with self.assertRaisesRegex(gossamer.Bootstrap, "rank 1") as caught:
            gossamer.init(0, 2, unique_id, bootstrap_timeout=0.5)
        self.assertEqual(caught.exception.rank, 1)


if __name__ == "__main__":
    unittest.main()
