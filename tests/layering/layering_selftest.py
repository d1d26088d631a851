#!/usr/bin/env python3
"""Proves that layering.py finds what it should: trees with one deliberate mistake each, and a tree without any."""
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import clones
import cpp_scan
import layering
import rules
import search_paths
from source_tree import blank

GUARD = "#ifndef X_H_\n#define X_H_\n{}\n#endif\n"
RIGHT = {
    "include/gossamer/gossamer.h": GUARD.format("typedef int goss_int;"),
    "include/gossamer/status.h": GUARD.format('#include "gossamer/gossamer.h"'),
    "include/gossamer/transport.h": GUARD.format("class Transport {\n};"),
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
    "lib/survey/survey.h": GUARD.format(""),
    "lib/engine/engine.h": GUARD.format('#include "platform/fd.h"'),
    "bindings/python/gossamer/_abi.py": "import ctypes\n",
    "bindings/python/gossamer/_library.py": "from . import _abi\n",
    "bindings/python/gossamer/_errors.py": "from ._library import library\n\n\ndef later():\n    from .torch import register\n",
    "bindings/python/gossamer/torch/__init__.py": "import torch.distributed\nfrom .._errors import later\n",
}

# name -> (file, contents, words that the complaint must contain)
WRONG = {
    "upward in Python": ("bindings/python/gossamer/_library.py", "from ._errors import Error\n", "does not lie below it"),
    "foreign in Python": ("bindings/python/gossamer/_comm.py", "import numpy\n", "may not load numpy"),
    "unknown in Python": ("bindings/python/gossamer/_other.py", "import os\n", "no floor"),
    "upward include": ("lib/base/a.h", GUARD.format('#include "survey/survey.h"'), "lib/base may not include lib/survey/survey.h"),
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
    "unmarked function": ("lib/health/a.h", GUARD.format("void tellOnLoop(int rank) const;"), "lib/health/a.h:3: tellOnLoop needs the engine's lock"),
    "goto": ("tests/transports/tcp/a.cc", "void f() { goto end; end:; }\n", "goto is not used"),
    "long file": ("bench/a.cc", "int a;\n" * 601, "601 lines"),
}

WRONG_HEADERS = {
    "missing include": ("lib/health/a.h", GUARD.format("inline std::string a;"), "lib/health/a.h:1: does not compile alone"),
    "broken guard": ("lib/health/a.h", "#ifndef A_H_\n#define B_H_\nstruct A {};\n#endif\n", "does not compile alone"),
    "C++ in the C ABI": ("include/gossamer/gossamer.h", GUARD.format("enum class A {};"), "does not compile alone"),
}


# The trees above need none of the exceptions in rules.py.
NO_EXCEPTIONS = {"FILES_IN_CYCLES": (), "FOLDERS_IN_CYCLES": (), "LARGE_CLASSES": {}, "FULL_FOLDERS": {}, "LONG_SEAM": {}}


# Who includes whom is not what misshapen trees are about.
FREE = {"EXTRA": {**rules.EXTRA, **{f"lib/{folder}/{name}.cc": ("lib",) for folder in ("execution", "call", "state") for name in "ab"}}}


def methods(count, name="Large", file=GUARD):
    return file.format(f"class {name} {{\n public:\n" + "".join(f"  void f{i}();\n" for i in range(count)) + "};")


# name -> (files, the exceptions that excuse them, words that the complaint must contain without them)
MISSHAPEN = {
    "cycle of headers": (
        {"lib/health/a.h": GUARD.format('#include "health/b.h"'), "lib/health/b.h": GUARD.format('#include "health/a.h"')},
        {"FILES_IN_CYCLES": ("lib/health/a", "lib/health/b")},
        "cycle of files that include each other: lib/health/a, lib/health/b",
    ),
    "cycle through a source": (
        {
            "lib/health/a.h": GUARD.format("int a();"),
            "lib/health/a.cc": '#include "health/a.h"\n#include "health/b.h"\n',
            "lib/health/b.h": GUARD.format('#include "health/a.h"'),
        },
        {"FILES_IN_CYCLES": ("lib/health/a", "lib/health/b")},
        "cycle of files that include each other: lib/health/a, lib/health/b",
    ),
    "cycle of floors": (
        {
            "lib/execution/b.cc": '#include "call/a.h"\n',
            "lib/call/a.h": GUARD.format(""),
            "lib/call/b.cc": '#include "state/a.h"\n',
            "lib/state/a.h": GUARD.format(""),
            "lib/state/b.cc": '#include "execution/a.h"\n',
            "lib/execution/a.h": GUARD.format(""),
        },
        {"FOLDERS_IN_CYCLES": ("lib/call", "lib/execution", "lib/state")},
        "cycle of folders that include each other: lib/call, lib/execution, lib/state",
    ),
    "large class": ({"lib/health/a.h": methods(41)}, {"LARGE_CLASSES": {"lib/health/a.h:Large": 41}}, "lib/health/a.h:Large: 41 methods; at most 40"),
    "large class of a source": (
        {"lib/health/a.cc": methods(41, file="{}\n")},
        {"LARGE_CLASSES": {"lib/health/a.cc:Large": 41}},
        "lib/health/a.cc:Large: 41 methods; at most 40",
    ),
    "full folder": (
        {f"lib/health/a{i}.h": GUARD.format("") for i in range(46)},
        {"FULL_FOLDERS": {"lib/health": 46}},
        "lib/health: 46 files beside each other; at most 45",
    ),
    "long seam": (
        {"include/gossamer/transport.h": GUARD.format("/// A seam.\nclass Transport {\n" + "  // word\n" * 118 + "};")},
        {"LONG_SEAM": {"include/gossamer/transport.h": 121}},
        "include/gossamer/transport.h: 121 lines of class Transport; at most 120",
    ),
}

SCANNED = """
namespace a {
template <typename T, typename = std::enable_if_t<(sizeof(T) > 4)>>
class Outer final : public Base<int(*)(int)> {
 public:
  explicit Outer(int a = f(1), Options options = {}) : a_{a}, b_(std::move(options)) { start(); }
  Outer(const Outer&) = delete;
  ~Outer() override = default;
  bool operator()(int a) const;
  bool operator<(const Outer& other) const { return a_ < other.a_; }
  explicit operator bool() const { return a_; }
  [[nodiscard]] std::function<void(int)> next(std::span<const std::byte> bytes) const noexcept;
  virtual void run() = 0;
  using Call = void (*)(int);
  struct Inner {
    int a = f(2);
    int sum() const { return a; }
  };
  enum class Kind { one, two };
  friend void swap(Outer& a, Outer& b);

 private:
  static constexpr int kSize = size(3);
  alignas(64) std::array<int, (3 > 2)> values_{1, 2};
  void (*callback_)(int) = nullptr;
  std::function<int(int)> function_;
  Inner inner_{.a = 1};
};

int Outer::far() {
  if (a) {
    return [](int b) { return b; }(1);
  }
  return 0;
}
}
"""


def run(files, *arguments, exceptions=None, names_all=False):
    """Exit status and output of layering.py over a tree of `files`, which has few of the paths in rules.py: names_all checks them."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        output = io.StringIO()
        check_rule_paths = layering.check_rule_paths if names_all else lambda tree: ()
        with mock.patch.multiple(rules, **{**NO_EXCEPTIONS, **(exceptions or {})}), mock.patch.object(
            layering, "check_rule_paths", check_rule_paths
        ), contextlib.redirect_stdout(output):
            status = layering.main(["--root", root, *arguments])
        return status, output.getvalue()


class LayeringTest(unittest.TestCase):
    def test_right_tree_passes(self):
        status, output = run(RIGHT)
        self.assertEqual(status, 0, output)
        self.assertTrue(output.endswith(f"{len(RIGHT)} files, 0 violations\n"), output)

    def test_each_wrong_tree_is_caught_once(self):
        for name, (path, text, complaint) in WRONG.items():
            with self.subTest(name):
                status, output = run({**RIGHT, path: text})
                self.assertEqual(status, 1, output)
                self.assertIn(complaint, output)
                self.assertIn(", 1 violations", output)

    def test_each_misshapen_tree_is_caught_once(self):
        for name, (files, _, complaint) in MISSHAPEN.items():
            with self.subTest(name):
                status, output = run({**RIGHT, **files}, exceptions=FREE)
                self.assertEqual(status, 1, output)
                self.assertIn(complaint, output)
                self.assertIn(", 1 violations", output)

    def test_exceptions_excuse(self):
        for name, (files, exceptions, _) in MISSHAPEN.items():
            with self.subTest(name):
                status, output = run({**RIGHT, **files}, exceptions={**FREE, **exceptions})
                self.assertEqual(status, 0, output)

    def test_exceptions_that_nothing_needs_are_violations(self):
        for name, (_, exceptions, _) in MISSHAPEN.items():
            with self.subTest(name):
                status, output = run(RIGHT, exceptions=exceptions)
                self.assertEqual(status, 1, output)
                self.assertIn("any more; take it out of tests/layering/rules.py", output)

    def test_a_facade_has_a_bound_of_its_own(self):
        for count, violations in ((35, 0), (36, 1)):
            status, output = run({**RIGHT, "lib/communicator/communicator.h": methods(count, "Communicator")}, exceptions=FREE)
            self.assertEqual(status, violations, output)
        self.assertIn("lib/communicator/communicator.h:Communicator: 36 methods of a facade; at most 35", output)
        status, output = run({**RIGHT, "lib/communicator/communicator.h": methods(1, "Renamed")}, exceptions=FREE)
        self.assertEqual(status, 1, output)
        self.assertIn("lib/communicator/communicator.h:Communicator: this class is gone", output)

    def test_a_seam_that_is_gone_is_a_violation(self):
        status, output = run({**RIGHT, "include/gossamer/transport.h": GUARD.format("class Renamed {\n};")})
        self.assertEqual(status, 1, output)
        self.assertIn("include/gossamer/transport.h: class Transport is gone", output)
        self.assertIn(", 1 violations", output)

    def test_paths_of_rules_that_no_file_has_are_violations(self):
        gone = {
            "UNITS": {**rules.UNITS, "lib/base": ("include/gossamer", "lib/bas")},
            "CONDITIONAL": (*rules.CONDITIONAL, "bench/gone"),
            "THIRD_PARTY": {**rules.THIRD_PARTY, "gone.h": ("lib/gone/",)},
            "PYTHON": {"bindings/python/gossamer": (("_abi", "_gone"),)},
        }
        status, output = run(RIGHT, exceptions=gone, names_all=True)
        self.assertEqual(status, 1, output)
        for named in ("UNITS names lib/bas", "CONDITIONAL names bench/gone", "THIRD_PARTY names lib/gone/", "PYTHON names bindings/python/gossamer/_gone.py"):
            self.assertIn(f"{named}, which no file has", output)
        for right in ("UNITS names lib/base", "CONDITIONAL names lib/platform/", "PYTHON names bindings/python/gossamer/_abi.py"):
            self.assertNotIn(f"{right},", output)

    def test_the_numbers_are_told(self):
        output = run({**RIGHT, "lib/health/a.h": methods(7)})[1]
        units = len({os.path.splitext(path)[0] for path in RIGHT if not path.endswith(".py")})
        self.assertIn(f"file cycles: 0, of 0 among {units + 1} files", output)
        self.assertIn("folder cycles in lib: 0,", output)
        self.assertIn("largest class: 7 methods, lib/health/a.h:Large", output)
        self.assertIn("fullest folder: ", output)

    def test_classes_and_functions_are_read(self):
        classes, functions = cpp_scan.scan(blank(SCANNED))
        outer, inner = sorted(classes, key=lambda each: each.name, reverse=True)
        self.assertEqual(outer.methods, ["Outer", "Outer", "~Outer", "operator", "operator", "operator", "next", "run"])
        self.assertEqual((inner.name, inner.methods), ("Inner", ["sum"]))
        self.assertEqual([(each.name, each.lines) for each in functions if each.lines > 1], [("far", 6)])

    def test_deleted_methods_count(self):
        deleted = methods(40).replace(" public:\n", " public:\n  Large(const Large&) = delete;\n")
        status, output = run({**RIGHT, "lib/health/a.h": deleted})
        self.assertEqual(status, 1, output)
        self.assertIn("lib/health/a.h:Large: 41 methods; at most 40", output)

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

    def test_search_paths_that_show_too_much_are_found(self):
        with tempfile.TemporaryDirectory() as root:
            for folder in ("lib/base", "lib/engine", "build/rooms/base", "build/rooms/engine"):
                os.makedirs(os.path.join(root, folder))
            for name in ("base", "engine"):
                os.symlink(os.path.join(root, "lib", name), os.path.join(root, "build/rooms", name, name))
            for paths, found in (
                (("include", "build/rooms/base"), []),
                (("build/rooms/base", "build/rooms/engine"), ["lib/base/log.cc: the compiler finds lib/engine, which lib/base may not include"]),
                (("lib",), ["lib/base/log.cc: the compiler finds lib, which lib/base may not include"]),
                (("",), ["lib/base/log.cc: the compiler finds the root, which lib/base may not include"]),
            ):
                with self.subTest(paths):
                    flags = " ".join(f"-I{os.path.join(root, path)}" for path in paths)
                    entry = {"directory": os.path.join(root, "build"), "command": f"c++ {flags} -o log.o", "file": os.path.join(root, "lib/base/log.cc")}
                    with open(os.path.join(root, "build/compile_commands.json"), "w", encoding="utf-8") as file:
                        json.dump([entry], file)
                    self.assertEqual(search_paths.check(root, os.path.join(root, "build")), (1, found))

    @unittest.skipUnless(shutil.which("clang++"), "only Clang checks who holds the engine's lock")
    def test_calls_without_the_engines_lock_are_refused(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
        command = ("clang++", "-std=c++20", "-fsyntax-only", "-Werror=thread-safety", "-I", f"{root}/lib", "-I", f"{root}/include", "-x", "c++", "-")
        for body, refused in (
            ("const auto lock = engine.enter(); engine.startUnpostedOnLoop();", False),
            ("engine.startUnpostedOnLoop();", True),
            ("{ const auto lock = engine.enter(); } engine.startUnpostedOnLoop();", True),
            ("auto lock = engine.enter(); lock.unlock(); engine.startUnpostedOnLoop();", True),
            ("auto lock = engine.enter(); lock.unlock(); lock.lock(); engine.startUnpostedOnLoop();", False),
            ("auto lock = engine.enter(); [&] { engine.startUnpostedOnLoop(); }();", True),
            ("auto lock = engine.enter(); [&]() GOSS_ON_LOOP { engine.startUnpostedOnLoop(); }();", False),
        ):
            with self.subTest(body):
                code = f'#include "engine/engine.h"\nvoid call(goss::Engine& engine) {{ {body} }}\n'
                result = subprocess.run(command, input=code, capture_output=True, text=True, timeout=60)
                self.assertEqual("requires holding engine's lock" in result.stderr, refused, result.stderr)
                self.assertEqual(result.returncode != 0, refused, result.stderr)

    def test_copied_lines_are_counted(self):
        copied = "".join(f"  copied{i}();\n" for i in range(clones.WINDOW))
        short = "".join(f"  short{i}();\n" for i in range(clones.WINDOW - 1))
        texts = ("a();\n" + copied + "}\n" + short, copied + "b();\n" + short)
        self.assertEqual(clones.cloned_lines(texts), (2 * clones.WINDOW, 4 * clones.WINDOW))


if __name__ == "__main__":
    unittest.main()
