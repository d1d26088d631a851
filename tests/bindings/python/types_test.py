"""The annotations of the package agree with its code, and a program that uses them is checked."""

import os
import shutil
import subprocess
import tempfile
import unittest

import gossamer

PACKAGE = os.path.dirname(gossamer.__file__)
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "bindings", "python", "pyproject.toml")

PROGRAM = """
import gossamer
comm = gossamer.init(transport="tcp")
request: gossamer.Request = comm.all_reduce(bytearray(4), op="max", async_op=True)
half = comm.split(0)
half.barrier()  # may be None
comm.all_reduce(bytearray(4), op=3)
"""


@unittest.skipUnless(shutil.which("mypy"), "mypy is not installed")
class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.cache.cleanup()

    def check(self, *arguments):
        return subprocess.run(["mypy", "--strict", "--config-file", CONFIG, "--cache-dir", self.cache.name, *arguments],
                              capture_output=True, text=True, check=False, env=dict(os.environ, MYPYPATH=os.path.dirname(PACKAGE)))

    def test_the_package_is_typed_and_programs_are_checked_against_it(self):
        done = self.check("-p", "gossamer")
        self.assertEqual(done.returncode, 0, done.stdout)
        done = self.check("-c", PROGRAM)
        self.assertEqual(done.stdout.count("error:"), 2, done.stdout)
        self.assertIn('"None" of "Optional[Comm]"', done.stdout)
        self.assertIn('"op"', done.stdout)


if __name__ == "__main__":
    unittest.main()
