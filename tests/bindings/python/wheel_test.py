"""The wheel of scripts/wheel works in an empty environment."""

import glob
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
HAS_AUDITWHEEL = os.path.exists(os.path.join(ROOT, "build", "python", "bin", "auditwheel"))

PROGRAM = """
import array, sys, threading
import gossamer
from importlib import metadata

points = metadata.entry_points()
points = points.select(group="torch.distributed.backends") if hasattr(points, "select") else points["torch.distributed.backends"]
assert [(one.name, one.value) for one in points] == [("gossamer", "gossamer.torch:register")], points
assert metadata.version("gossamer") == gossamer.__version__
unique_id = gossamer.UniqueId()
sums = []

def rank(number):
    with gossamer.init(number, 2, unique_id, transport="tcp") as comm:
        value = array.array("f", [number + 1.0])
        comm.all_reduce(value)
        sums.append(value[0])

threads = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
[one.start() for one in threads]
[one.join() for one in threads]
assert sums == [3.0, 3.0], sums
carried = [line.split()[-1] for line in open("/proc/self/maps") if ".so" in line]
print("\\n".join(sorted(set(carried))))
"""


class Wheel(unittest.TestCase):
    def check(self, *options):
        """The shared libraries of a process that uses the wheel."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.path.join(ROOT, "scripts", "wheel"), "--library", os.environ["GOSSAMER_LIBRARY"], "--out", folder,
                            *options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wheel, = glob.glob(os.path.join(folder, "gossamer-*-py3-none-*.whl"))
            environment = os.path.join(folder, "environment")
            subprocess.run([sys.executable, "-m", "venv", environment], check=True)
            subprocess.run([os.path.join(environment, "bin", "pip"), "install", "-q", "--no-index", "--disable-pip-version-check", wheel],
                           check=True)
            left = {name: value for name, value in os.environ.items() if name not in ("GOSSAMER_LIBRARY", "PYTHONPATH")}
            done = subprocess.run([os.path.join(environment, "bin", "python"), "-c", PROGRAM], env=left, capture_output=True, text=True,
                                  check=False, timeout=60, cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [line.replace(folder, "") for line in done.stdout.splitlines()]

    def test_carries_the_library(self):
        ours = [path for path in self.check("--plain") if "gossamer" in path]
        self.assertEqual(len(ours), 1, ours)
        self.assertTrue(ours[0].startswith("/environment/"), ours)

    @unittest.skipUnless(HAS_AUDITWHEEL, "auditwheel is not installed (scripts/install-deps)")
    def test_carries_what_the_library_needs(self):
        loaded = self.check()
        for name in ("libfmt", "libspdlog", "libisal", "libhwloc"):
            places = [path for path in loaded if f"/{name}" in path]
            self.assertEqual([path.split("/")[1] for path in places], ["environment"], loaded)


if __name__ == "__main__":
    unittest.main()
