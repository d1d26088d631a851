#!/usr/bin/env python3
"""Proves that layering.py finds what it should: trees with one deliberate mistake each, and a tree without any."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
GUARD = "#ifndef X_H_\n#define X_H_\n{}\n#endif\n"
RIGHT = {
    "include/gossamer/gossamer.h": GUARD.format("typedef int goss_int;"),
    "include/gossamer/status.h": GUARD.format('#include "gossamer/gossamer.h"'),
    "lib/base/log.h": GUARD.format('// getenv(), goto and std::thread in a comment are fine.\n#include "gossamer/status.h"'),
    "lib/base/log.cc": '#include "base/log.h"\n#include <spdlog/logger.h>\nconst char* text = "goto #if getenv(";\n',
    "lib/platform/fd.h": GUARD.format('#include "base/log.h"\n#if defined(__linux__)\n#endif'),
    "lib/world/config.cc": "const char* home() { return getenv(\"HOME\"); }\n",
    "lib/engine/progress_thread.cc": "#include <thread>\nstd::thread loop;\nauto cores = std::thread::hardware_concurrency();\n",
    "lib/builtins/builtins.cc": '#include "collectives/ring.h"\n#include "transports/tcp/tcp.h"\n',
    "collectives/ring.h": GUARD.format('#include "gossamer/status.h"\nint million = 1\'000\'000;'),
    "transports/common/frame.h": GUARD.format('#include "platform/fd.h"'),
    "transports/tcp/tcp.h": GUARD.format('#include "transports/common/frame.h"'),
    "transports/shm/shm.h": GUARD.format('#include "transports/common/frame.h"'),
    "tests/transports/tcp/helper.h": GUARD.format("int helper();"),
    "tests/transports/tcp/tcp_test.cc": '#include "helper.h"\n#include "transports/tcp/tcp.h"\n#include "engine/engine.h"\n',
    "lib/engine/engine.h": GUARD.format('#include "platform/fd.h"'),
}

# name -> (file, contents, words that the complaint must contain)
WRONG = {
    "upward include": ("lib/base/a.h", GUARD.format('#include "engine/engine.h"'), "lib/base may not include lib/engine/engine.h"),
    "collective sees a transport": ("collectives/a.h", GUARD.format('#include "transports/tcp/tcp.h"'), "may not include"),
    "transport sees another": ("transports/tcp/a.cc", '#include "transports/shm/shm.h"\n', "may not include transports/shm"),
    "a floor outside builtins": ("lib/health/a.cc", '#include "collectives/ring.h"\n', "lib/health may not include"),
    "bench sees the inside": ("bench/a.cc", '#include "engine/engine.h"\n', "bench may not include"),
    "trainer sees a C++ seam": ("trainer/a.cc", '#include "gossamer/status.h"\n', "trainer may not include"),
    "seam sees the library": ("include/gossamer/a.h", GUARD.format('#include "base/log.h"'), "may not include lib/base"),
    "library sees a test": ("lib/health/a.h", GUARD.format('#include "tests/transports/tcp/tcp_test.cc"'), "only tests may include"),
    "relative include": ("lib/health/a.cc", '#include "engine.h"\n', "is not found from"),
    "own header second": ("lib/engine/engine.cc", '#include <vector>\n#include "engine/engine.h"\n', "own header first"),
    "spdlog elsewhere": ("lib/health/a.cc", "#include <spdlog/spdlog.h>\n", "may be included only in"),
    "MPI in the library": ("lib/health/a.cc", "#include <mpi.h>\n", "may be included only in"),
    "iostream": ("lib/health/a.cc", "#include <iostream>\n", "no file"),
    "conditional": ("lib/health/a.cc", "int a;\n#ifdef NDEBUG\n#endif\n", "lib/health/a.cc:2: #ifdef NDEBUG"),
    "no include guard": ("lib/health/a.h", "int a;\n", "include guard"),
    "getenv": ("lib/health/a.cc", 'auto a = std::getenv("A");\n', "environment is read"),
    "thread": ("transports/tcp/a.cc", "std::jthread a;\n", "threads are made"),
    "raw thread": ("lib/health/a.cc", "int a = pthread_create(0, 0, f, 0);\n", "threads are made"),
    "goto": ("tests/transports/tcp/a.cc", "void f() { goto end; end:; }\n", "goto is not used"),
    "long file": ("bench/a.cc", "int a;\n" * 601, "601 lines"),
}

WRONG_HEADERS = {
    "missing include": ("lib/health/a.h", GUARD.format("inline std::string a;"), "lib/health/a.h:1: does not compile alone"),
    "broken guard": ("lib/health/a.h", "#ifndef A_H_\n#define B_H_\nstruct A {};\n#endif\n", "does not compile alone"),
    "C++ in the C ABI": ("include/gossamer/gossamer.h", GUARD.format("enum class A {};"), "does not compile alone"),
}


def run(files, *arguments):
    """Exit status and output of layering.py over a tree of `files`."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        command = [sys.executable, os.path.join(HERE, "layering.py"), "--root", root, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class LayeringTest(unittest.TestCase):
    def test_right_tree_passes(self):
        status, output = run(RIGHT)
        self.assertEqual((status, output), (0, f"{len(RIGHT)} files, 0 violations\n"))

    def test_each_wrong_tree_is_caught_once(self):
        for name, (path, text, complaint) in WRONG.items():
            with self.subTest(name):
                status, output = run({**RIGHT, path: text})
                self.assertEqual(status, 1, output)
                self.assertIn(complaint, output)
                self.assertIn(", 1 violations", output)

    def test_empty_tree_fails(self):
        self.assertEqual(run({})[0], 1)

    def test_headers_that_stand_alone_pass_and_are_compiled_once(self):
        with tempfile.TemporaryDirectory() as folder:
            compiler, calls = os.path.join(folder, "cxx"), os.path.join(folder, "calls")
            with open(compiler, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\necho call >> {calls}\nexec c++ "$@"\n')
            os.chmod(compiler, 0o755)
            arguments = ("--headers", "--cache", os.path.join(folder, "cache.json"), "--cxx", compiler)
            headers = sum(path.endswith(".h") and path[:-2] + ".cc" not in RIGHT for path in RIGHT)
            self.assertGreater(headers, 5)
            for attempt in ("first", "cached"):
                with self.subTest(attempt):
                    status, output = run(RIGHT, *arguments)
                    self.assertEqual(status, 0, output)
                    with open(calls, encoding="utf-8") as file:
                        self.assertEqual(len(file.readlines()), headers)

    def test_headers_that_do_not_are_caught(self):
        for name, (path, text, complaint) in WRONG_HEADERS.items():
            with self.subTest(name):
                status, output = run({**RIGHT, path: text}, "--headers")
                self.assertEqual(status, 1, output)
                self.assertIn(complaint, output)


if __name__ == "__main__":
    unittest.main()
