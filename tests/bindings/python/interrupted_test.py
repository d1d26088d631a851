"""A communicator stays usable when signal handlers, finalizers or wrong calls interrupt a call halfway."""

import asyncio
import copy
import os
import pickle
import signal
import threading
import time
import unittest

import gossamer
import numpy as np
from gossamer import _request, _synchronizer, _waiting


class Interrupted(unittest.TestCase):
    def setUp(self):
        self.comm = gossamer.init()
        signal.alarm(20)  # nothing hangs

    def tearDown(self):
        signal.alarm(0)
        self.comm._destroy()

    def test_shared_memory_is_freed_while_the_lock_is_held(self):
        for _ in range(2):
            request = self.comm.all_reduce(np.frombuffer(self.comm.allocate(4096), "float32"), async_op=True)
            request.wait()
        del request
        dropped = self.comm.all_reduce(np.frombuffer(self.comm.allocate(4096), "float32"), async_op=True)
        time.sleep(0.05)
        del dropped
        self.comm.barrier()
        self.comm.barrier()
        self.assertEqual(self.comm._memory, {})

    def test_a_signal_handler_aborts_or_closes_what_waits(self):
        for end in (lambda comm: comm.abort("enough"), lambda comm: comm.close()):
            with gossamer.init() as comm:
                before = signal.signal(signal.SIGUSR1, lambda *_: end(comm))
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
                with self.assertRaises(gossamer.Aborted):
                    comm.recv(bytearray(1), 0, 1)
                signal.signal(signal.SIGUSR1, before)
    def test_ctrl_c_ends_close_which_still_ends_everything(self):
        comm, real, errors = gossamer.init(), _waiting.poll, []
        pending = comm.recv(bytearray(1), 0, 1, async_op=True)

        def receive():
            try:
                comm.recv(bytearray(1), 0, 2)
            except gossamer.Aborted as error:
                errors.append(error)

        def interrupted(is_done, limit=None):
            _waiting.poll = real
            raise KeyboardInterrupt

        other = threading.Thread(target=receive)
        other.start()
        while not comm._is_used():
            time.sleep(0.001)
        _waiting.poll = interrupted
        with self.assertRaises(KeyboardInterrupt):
            comm.close()
        other.join(10)
        self.assertEqual(len(errors), 1)
        self.assertIsInstance(pending.exception(), gossamer.Aborted)
        self.assertEqual(len(comm._pending), 0)

    def test_a_second_close_frees_a_synchronizer_whose_first_one_ctrl_c_ended(self):
        real_poll, real_library, freed = _waiting.poll, _synchronizer.library, []

        class Watching:
            """The library, and what it has freed."""

            def goss_sync_destroy(self, handle):
                freed.append(handle)
                return real_library.goss_sync_destroy(handle)

            def __getattr__(self, name):
                return getattr(real_library, name)

        def interrupted(is_done, limit=None):
            _waiting.poll = real_poll
            raise KeyboardInterrupt

        sync = gossamer.Synchronizer([("x", np.zeros(3, "float32"), np.zeros(3, "float32"))], "ddp", comm=self.comm)
        handle = sync._handle
        _synchronizer.library, _waiting.poll = Watching(), interrupted
        try:
            with sync._in_call:  # as another thread that is in a call
                with self.assertRaises(KeyboardInterrupt):
                    sync.close()
            self.assertEqual(freed, [])
            with self.assertRaises(gossamer.Aborted):
                sync.counters()
            sync.close()
            self.assertEqual(freed, [handle])
            sync.close()
            self.assertEqual(freed, [handle])
        finally:
            _synchronizer.library = real_library

    def test_the_lock_may_be_held_when_a_handler_of_a_signal_aborts(self):
        with self.comm._lock:
            self.comm.abort("enough")

    def test_an_exception_right_after_goss_test_leaves_the_outcome(self):
        real = _request.library

        class Interrupting:
            """The library, with a signal handler's exception after the call that completes an operation."""

            def goss_test(self, handle, flag, message):
                status = real.goss_test(handle, flag, message)
                if flag.value:
                    raise KeyboardInterrupt
                return status

            def __getattr__(self, name):
                return getattr(real, name)

        def interrupt(request):
            _request.library = Interrupting()
            try:
                with self.assertRaises(KeyboardInterrupt):
                    request.wait(10)
            finally:
                _request.library = real

        good = self.comm.recv(bytearray(4), 0, 1, async_op=True)
        self.comm.send(b"1234", 0, 1)
        interrupt(good)
        self.assertEqual(good.wait(), gossamer.Message(0, 1, 4))
        values = np.ones(3)
        for request in (self.comm.all_reduce(values, async_op=True), self.comm.all_reduce(values, persistent=True).start()):
            interrupt(request)
            self.assertIsNone(request.wait())
        request.start().wait()
        request.free()
        bad = self.comm.recv(bytearray(4), 0, 1, async_op=True)
        self.comm.send(b"12345678", 0, 1)
        interrupt(bad)
        with self.assertRaises(gossamer.Aborted):
            bad.wait()
        failed = self.comm.recv(bytearray(4), 0, 1, async_op=True)
        self.comm.abort("enough")
        interrupt(failed)
        with self.assertRaisesRegex(gossamer.Aborted, "enough"):
            failed.wait()

    def test_a_refused_sendrecv_leaves_no_receive(self):
        comm, got = self.comm, bytearray(4)
        for error, call in ((TypeError, lambda: comm.sendrecv(np.zeros(1, "complex64"), 0, got)),
                            (gossamer.InvalidArgument, lambda: comm.sendrecv(b"abcd", 1, got)),
                            (gossamer.InvalidArgument, lambda: comm.sendrecv(b"abcd", 0, got, tag=-1)),
                            (gossamer.InvalidArgument, lambda: comm.sendrecv(b"abcd", 0, got, persistent=True))):
            with self.assertRaises(error):
                call()
        self.assertEqual(len(comm._pending), 0)
        self.assertEqual(comm.sendrecv(b"abcd", 0, got, timeout=10), gossamer.Message(0, 0, 4))
        self.assertEqual(got, b"abcd")

    def test_numbers_that_do_not_fit_are_refused(self):
        for call in (lambda: self.comm.split(2**32), lambda: self.comm.split(0, 2**32), lambda: self.comm.iprobe(2**32),
                     lambda: self.comm.probe(0, 2**32, timeout=0.01), lambda: self.comm.transport(2**32)):
            with self.assertRaisesRegex(gossamer.InvalidArgument, "too large"):
                call()

    def test_two_event_loops_share_a_communicator(self):
        comm, outcomes = self.comm, []

        async def receive(tag):
            outcomes.append((await comm.recv(bytearray(1), 0, tag, async_op=True)).tag)

        threads = [threading.Thread(target=asyncio.run, args=(receive(tag),)) for tag in (1, 2)]
        for thread in threads:
            thread.start()
        while sum(len(watcher._waiting) for watcher in list(comm._watchers.values())) < 2:
            time.sleep(0.01)
        watchers = list(comm._watchers.values())
        for tag in (1, 2):
            comm.send(b"x", 0, tag)
        for thread in threads:
            thread.join(10)
        self.assertEqual(sorted(outcomes), [1, 2])
        self.assertEqual(len(watchers), 2)
        threading.Timer(0.05, comm.send, (b"x", 0, 3)).start()
        asyncio.run(receive(3))
        self.assertEqual(len(comm._watchers), 1)  # those of closed loops are forgotten

    def test_a_thread_may_wait_for_what_a_loop_awaits(self):
        comm = self.comm

        async def receive():
            asyncio.get_running_loop().call_later(0.05, comm.send, b"x", 0, 8)
            await comm.recv(bytearray(1), 0, 8, async_op=True)  # from now on the loop waits for the descriptor
            for _ in range(20):
                request = comm.recv(bytearray(1), 0, 9, async_op=True)
                thread = threading.Thread(target=request.wait)
                thread.start()
                awaited = asyncio.ensure_future(self.awaited(request))
                await asyncio.sleep(0.01)  # both wait; the thread collects the operation under the library's lock
                comm.send(b"x", 0, 9)
                self.assertEqual((await asyncio.wait_for(awaited, 5)).tag, 9)
                thread.join()

        asyncio.run(receive())

    def test_a_child_of_fork_leaves_the_loop_of_its_parent_alone(self):
        comm = self.comm

        async def receive():
            first = comm.recv(bytearray(1), 0, 6, async_op=True)
            asyncio.get_running_loop().call_later(0.05, comm.send, b"x", 0, 6)
            await first  # from now on the loop waits for the descriptor instead of polling
            waiting = asyncio.ensure_future(self.awaited(comm.recv(bytearray(1), 0, 7, async_op=True)))
            await asyncio.sleep(0.05)
            child = os.fork()
            if child == 0:
                comm._destroy()
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            comm.send(b"x", 0, 7)
            return (await asyncio.wait_for(waiting, 10)).tag

        self.assertEqual(asyncio.run(receive()), 7)

    @staticmethod
    async def awaited(request):
        return await request

    def test_what_owns_a_handle_is_not_copied(self):
        for one in (self.comm, gossamer.Topology("ring", 4)):
            for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "can neither be copied nor pickled"):
                    copied(one)

    def test_a_block_left_by_an_exception_raises_that_one(self):
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            with gossamer.init() as comm:
                shared = np.frombuffer(comm.allocate(64), "uint8")
                raise ZeroDivisionError("mine")
        self.assertEqual(comm.error.status, gossamer.Aborted.status)
        del shared
        comm.close()


if __name__ == "__main__":
    unittest.main()
