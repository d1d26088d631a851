"""A replica of torchft's Manager over Gossamer is killed; the others go on, it comes again, and all end with equal parameters."""

import datetime
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

REPLICAS, MORE_STEPS, WAIT = 3, 30, datetime.timedelta(seconds=30)


def is_over(file, step):
    """Whether `step` is the last one, which the test writes into `file` in good time."""
    try:
        with open(file, encoding="ascii") as last:
            return step >= int(last.read())
    except (FileNotFoundError, ValueError):
        return False


def replica(name, file):
    import torch  # pylint: disable=import-outside-toplevel
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    import torchft  # pylint: disable=import-outside-toplevel

    import gossamer.torch.torchft  # pylint: disable=import-outside-toplevel

    torch.manual_seed(int(name))  # others than the first one take its parameters
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def load(state):
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])

    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    manager = torchft.Manager(pg=gossamer.torch.torchft.ProcessGroupGossamer(WAIT, interface="lo"), load_state_dict=load,
                              state_dict=lambda: {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, min_replica_size=2,
                              timeout=WAIT, quorum_timeout=WAIT, connect_timeout=WAIT, use_async_quorum=False, rank=0, world_size=1, store_addr="127.0.0.1",
                              store_port=store.port, replica_id=f"replica{name}", hostname="127.0.0.1")
    while not is_over(file, manager.current_step()):
        manager.start_quorum()
        points = torch.randn(8, 4, generator=torch.Generator().manual_seed(1000 * int(name) + manager.current_step()))
        optimizer.zero_grad()
        (model(points) - points.sum(1, keepdim=True)).square().mean().backward()
        for parameter in model.parameters():
            manager.allreduce(parameter.grad).wait()
        if manager.should_commit():
            optimizer.step()
            print(f"step {manager.current_step()} of {manager.num_participants()}", flush=True)
        time.sleep(0.1)
    print("end", [value for one in model.parameters() for value in one.detach().reshape(-1).tolist()], flush=True)
    manager.shutdown(wait=False)
    os._exit(0)


class Torchft(unittest.TestCase):
    def start(self, name, file):
        return subprocess.Popen([sys.executable, "-B", __file__, str(name), file], env=dict(os.environ, TORCHFT_LIGHTHOUSE=self.lighthouse.address()),
                                stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()[-3000:]

    def step_of(self, process, replicas, after=0):
        """Reads until a replica has made a step with so many, after another one; gives its number."""
        for line in process.stdout:
            found = re.match(f"step ([0-9]+) of {replicas}", line)
            if found and int(found.group(1)) > after:
                return int(found.group(1))
        self.fail(f"it made no step with {replicas} replicas: {self.said()}")

    def test_a_killed_replica_comes_again(self):
        from torchft.coordination import LighthouseServer  # pylint: disable=import-outside-toplevel

        self.errors = tempfile.TemporaryFile("w+")  # a pipe that nobody reads would fill
        self.lighthouse = LighthouseServer(bind="127.0.0.1:0", min_replicas=2, join_timeout_ms=1000, heartbeat_timeout_ms=2000)
        folder = tempfile.TemporaryDirectory()
        file = os.path.join(folder.name, "last")
        running = [self.start(name, file) for name in range(REPLICAS)]
        try:
            step = self.step_of(running[2], 3)
            running[2].kill()
            self.assertEqual(running[2].wait(), -signal.SIGKILL)
            step = self.step_of(running[0], 2, after=step)
            running[2] = self.start(2, file)
            step = self.step_of(running[0], 3, after=step)
            with open(file, "w", encoding="ascii") as last:
                last.write(str(step + MORE_STEPS))
            outputs = [one.communicate(timeout=90) for one in running]
        finally:
            for one in running:
                one.kill()
            self.lighthouse.shutdown()
        self.assertEqual([one.returncode for one in running], [0] * REPLICAS, self.said())
        ends = [re.search("end (.*)", text).group(1) for text, _ in outputs]
        self.assertEqual(ends, [ends[0]] * REPLICAS)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].isdigit():
        replica(*sys.argv[1:])
    else:
        unittest.main()
