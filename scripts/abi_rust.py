"""Writes bindings/rust/gossamer-sys/src/abi.rs: the C ABI as Rust declares it. scripts/abi calls it."""

FILE = "bindings/rust/gossamer-sys/src/abi.rs"

TYPES = {
    "void": "c_void", "char": "c_char", "int": "c_int", "size_t": "usize", "double": "f64", "float": "f32", "int32_t": "i32",
    "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "uint16_t": "u16",
}


class Rust:
    """Constness is not in bindings/abi.json, so all pointers are *mut."""

    def __init__(self, abi):
        self.abi = abi

    def type(self, text):
        if isinstance(text, dict):
            return "Option<unsafe extern \"C\" fn" + self.signature(text) + ">"
        if text.endswith("]"):
            element, length = text[:-1].split("[")
            return f"[{self.type(element)}; {length}]"
        if text.endswith("*"):
            return "*mut " + self.type(text[:-1])
        return TYPES.get(text, text)

    def signature(self, function):
        listed = ", ".join(f"{one['name']}: {self.type(one['type'])}" for one in function["parameters"])
        returns = "" if function["returns"] == "void" else " -> " + self.type(function["returns"])
        return f"({listed}){returns}"

    def text(self):
        lines = ["//! The C ABI of Gossamer. scripts/abi wrote this file from include/gossamer/abi.h; do not edit it.",
                 "use std::os::raw::{c_char, c_int, c_void};", "", f'pub const VERSION: &str = "{self.abi["version"]}";', ""]
        lines += [f"pub const {key}: i32 = {value};" for key, value in self.abi["constants"].items()]
        for name, values in self.abi["enums"].items():
            lines += ["", f"pub type {name} = c_int;"] + [f"pub const {key}: {name} = {value};" for key, value in values.items()]
        for name in self.abi["handles"]:
            opaque = name[:-2]
            lines += ["", "#[repr(C)]", f"pub struct {opaque} {{", "    _opaque: [u8; 0],", "}", f"pub type {name} = *mut {opaque};"]
        for name, fields in self.abi["structs"].items():
            lines += ["", "#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {name} {{"]
            lines += [f"    pub {field['name']}: {self.type(field['type'])}," for field in fields] + ["}"]
        lines += ["", 'extern "C" {']
        lines += [f"    pub fn {name}{self.signature(function)};" for name, function in self.abi["functions"].items()]
        lines += ["}", "", "/// The address of every function: a program that reads them does not link with a library that lacks one.",
                  f"pub fn functions() -> [(&'static str, *const ()); {len(self.abi['functions'])}] {{", "    ["]
        lines += [f'        ("{name}", {name} as *const ()),' for name in self.abi["functions"]]
        return "\n".join(lines + ["    ]", "}", ""])
