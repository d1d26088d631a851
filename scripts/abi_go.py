"""Writes bindings/go/abi/abi.go: the C ABI as Go functions and types. scripts/abi calls it."""

FILE = "bindings/go/abi/abi.go"

TYPES = {
    "int": "int32", "size_t": "uintptr", "double": "float64", "float": "float32", "int32_t": "int32", "uint32_t": "uint32",
    "int64_t": "int64", "uint64_t": "uint64", "uint16_t": "uint16", "char": "byte", "void*": "unsafe.Pointer", "char*": "unsafe.Pointer",
}
KEYWORDS = ("func", "interface", "map", "range", "select", "type", "var")


def camel(name):
    """goss_all_reduce and GOSS_ALL_REDUCE: AllReduce; goss_comm_t: Comm."""
    words = name.lower().split("_")
    words = words[1:] if words[0] == "goss" else words
    words = words[:-1] if name.startswith("goss_") and words[-1] == "t" else words
    return "".join(word[0].upper() + word[1:] for word in words)


class Go:
    """Pointers to void and char, and functions, are unsafe.Pointer; structs are Go's own with the layout of C."""

    def __init__(self, abi):
        self.abi = abi

    def type(self, text):
        if isinstance(text, dict):
            return "unsafe.Pointer"
        if text.endswith("]"):
            element, length = text[:-1].split("[")
            return f"[{length}]{self.type(element)}"
        if text in TYPES:
            return TYPES[text]
        return "*" + self.type(text[:-1]) if text.endswith("*") else camel(text)

    def c_type(self, text):
        """What cgo calls a type."""
        if text == "void*":
            return "unsafe.Pointer"
        return "*" + self.c_type(text[:-1]) if text.endswith("*") else "C." + text

    def argument(self, name, text):
        """An argument as the C function takes it."""
        if text in ("void*", "void**"):
            return name
        if text.endswith("*"):
            return f"({self.c_type(text)})(unsafe.Pointer({name}))"
        return f"{self.c_type(text)}(unsafe.Pointer({name}))" if text in self.abi["handles"] else f"{self.c_type(text)}({name})"

    def function(self, name, function):
        named = [(one["name"] + "_" if one["name"] in KEYWORDS else one["name"], one["type"]) for one in function["parameters"]]
        head = ", ".join(f"{one} {self.type(text)}" for one, text in named)
        call = f"C.{name}({', '.join(self.argument(one, text) for one, text in named)})"
        returns = function["returns"]
        if returns == "void":
            return [f"func {camel(name)}({head}) {{", f"\t{call}", "}"]
        return [f"func {camel(name)}({head}) {self.type(returns)} {{", f"\treturn {self.type(returns)}({call})", "}"]

    def struct(self, name, fields):
        width = max(len(camel(field["name"])) for field in fields)
        lines = [f"// {camel(name)} is {name}.", f"type {camel(name)} struct {{"]
        lines += [f"\t{camel(field['name']).ljust(width)} {self.type(field['type'])}" for field in fields] + ["}", ""]
        size = f"unsafe.Sizeof({camel(name)}{{}})"
        return lines + [f"var _ [{size} - C.sizeof_{name}]byte", f"var _ [C.sizeof_{name} - {size}]byte"]

    def text(self):
        lines = ["// Package abi is the C ABI of Gossamer; include/gossamer/ documents it. Package gossamer is the one to program with.",
                 "//", "// scripts/abi wrote this file from include/gossamer/abi.h; do not edit it.", "package abi", "", "/*",
                 "#cgo LDFLAGS: -lgossamer", "#include <gossamer/abi.h>", "*/", 'import "C"', 'import "unsafe"', "",
                 f'const LibraryVersion = "{self.abi["version"]}"']
        lines += [f"const {camel(key)} = {value}" for key, value in self.abi["constants"].items()]
        for name, values in self.abi["enums"].items():
            lines += ["", f"// {camel(name)} is {name}.", f"type {camel(name)} int32", ""]
            lines += [f"const {camel(key)} {camel(name)} = {value}" for key, value in values.items()]
        for name in self.abi["handles"]:
            lines += ["", f"// {camel(name)} is {name}.", f"type {camel(name)} unsafe.Pointer"]
        for name, fields in self.abi["structs"].items():
            lines += [""] + self.struct(name, fields)
        for name, function in self.abi["functions"].items():
            lines += [""] + self.function(name, function)
        lines += ["", "// Functions counts the functions above.", f"const Functions = {len(self.abi['functions'])}"]
        return "\n".join(lines + [""])
