"""The structs and constants of gossamer._abi lie as a C compiler lays them out, and the library has all functions."""

import ctypes
import json
import os
import subprocess
import tempfile
import unittest

from gossamer import _abi
from gossamer._library import library

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def c_says(expressions):
    """The values of integer expressions in C."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <gossamer/abi.h>\n#include <stdio.h>\nint main(void) {\n")
            file.writelines(f'  printf("%lld\\n", (long long)({one}));\n' for one in expressions)
            file.write("  return 0;\n}\n")
        subprocess.run([os.environ.get("CC", "cc"), "-I", os.path.join(ROOT, "include"), source, "-o", program], check=True)
        return [int(line) for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()]


class Abi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "bindings", "abi.json"), encoding="utf-8") as file:
            cls.abi = json.load(file)

    def test_structs_lie_as_in_c(self):
        expressions, wanted = [], []
        for name, fields in self.abi["structs"].items():
            struct = getattr(_abi, name)
            expressions.append(f"sizeof({name})")
            wanted.append(ctypes.sizeof(struct))
            for field in fields:
                expressions += [f"offsetof({name}, {field['name']})", f"sizeof((({name}*)0)->{field['name']})"]
                wanted += [getattr(struct, field["name"]).offset, getattr(struct, field["name"]).size]
        self.assertEqual(dict(zip(expressions, c_says(expressions))), dict(zip(expressions, wanted)))
        self.assertGreater(len(expressions), 100)

    def test_constants_are_those_of_c(self):
        names = [name for values in self.abi["enums"].values() for name in values] + list(self.abi["constants"])
        self.assertEqual(c_says(names), [getattr(_abi, name) for name in names])

    def test_functions_are_those_that_the_library_exports(self):
        with open(os.path.join(ROOT, "tests", "golden", "exported_symbols.txt"), encoding="utf-8") as file:
            exported = {line.strip() for line in file if line.startswith("goss_")}
        exported.discard("goss_config_init")  # for old programs; an inline function of today's header
        self.assertEqual(set(self.abi["functions"]), exported)
        for name in exported:
            self.assertIsNotNone(getattr(library, name).argtypes)
        self.assertEqual(_abi.VERSION.split("."), [str(library.goss_version() // unit % 100) for unit in (10000, 100, 1)])


if __name__ == "__main__":
    unittest.main()
