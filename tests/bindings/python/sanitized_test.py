"""buffers_test.py where the library is built with AddressSanitizer, whose runtime the interpreter loads before all else."""

import os
import subprocess
import sys
import unittest

from buffers_test import Buffers  # noqa: F401  pylint: disable=unused-import

# Receives 8 bytes more than there are, below the package, which refuses it.
_OVERRUN = """
import ctypes, gossamer
from gossamer._library import library
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
with gossamer.init() as comm:
    source, target = (ctypes.c_void_p(libc.malloc(size)) for size in (4096 + 8, 4096))
    library.goss_all_reduce(comm._handle, source, target, 4096 + 8, 1, 0, None, None)
"""


class Sanitizer(unittest.TestCase):
    def test_sees_what_is_written_behind_a_buffer(self):
        # The symbolizer, a process of its own, may outlive the report, and holds the pipe open.
        options = os.environ.get("ASAN_OPTIONS", "") + ":symbolize=0"
        ended = subprocess.run([sys.executable, "-B", "-c", _OVERRUN], env=dict(os.environ, ASAN_OPTIONS=options), stderr=subprocess.PIPE,
                               text=True, check=False, timeout=100)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("AddressSanitizer: heap-buffer-overflow", ended.stderr)


if __name__ == "__main__":
    unittest.main()
