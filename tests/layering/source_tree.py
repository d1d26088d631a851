"""The source files of a tree: which there are, their text without comments, and what each of them includes."""
import os
import re

FOLDERS = ("include", "lib", "collectives", "compressors", "transports", "devices", "bindings", "bench", "tools", "trainer", "examples", "tests")
ENDINGS = (".h", ".hpp", ".cc", ".c", ".cu", ".inc")
INCLUDE_ROOTS = ("include", "lib", "")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def sources(root):
    """All source files below root, as sorted paths relative to it."""
    found = []
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(root, folder)):
            found += [os.path.relpath(os.path.join(directory, name), root) for name in names if name.endswith(ENDINGS)]
    return sorted(found)


def blank(text, keep_strings=False):
    """text without comments (and the insides of strings), line numbers unchanged."""

    def replace(match):
        token = match.group(0)
        if token[0] == "/":
            return re.sub(r"[^\n]", " ", token)
        # 1'000'000 is a number: the quote follows a digit or letter and is no character constant.
        if keep_strings or (token[0] == "'" and match.start() and text[match.start() - 1].isalnum()):
            return token
        return '""' + "\n" * token.count("\n")

    return TOKEN.sub(replace, text)


def line_of(text, offset):
    """The number, from 1, of the line that holds the character at offset."""
    return text.count("\n", 0, offset) + 1


class Tree:
    """The files of one source tree with their includes resolved."""

    def __init__(self, root):
        self.root = root
        self.files = sources(root)
        self.known = set(self.files)
        self.text = {}
        self.resolved = {}
        for path in self.files:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                self.text[path] = file.read()

    def includes(self, path):
        """(line, written name, quoted?, resolved path or None) of each include."""
        if path not in self.resolved:
            self.resolved[path] = list(self._resolve(path))
        return self.resolved[path]

    def _resolve(self, path):
        code = blank(self.text[path], keep_strings=True)
        # A test's helpers lie beside it and may be named without their folder.
        roots = INCLUDE_ROOTS + ((os.path.dirname(path),) if path.startswith("tests/") else ())
        for match in INCLUDE.finditer(code):
            name = match.group(2)
            candidates = [os.path.normpath(os.path.join(base, name)) for base in roots]
            resolved = next((candidate for candidate in candidates if candidate in self.known), None)
            yield line_of(code, match.start(1)), name, match.group(1) == '"', resolved

    def closure(self, path):
        """path and every project header it reaches."""
        seen, todo = set(), [path]
        while todo:
            current = todo.pop()
            if current not in seen:
                seen.add(current)
                todo += [resolved for _, _, _, resolved in self.includes(current) if resolved]
        return sorted(seen)
