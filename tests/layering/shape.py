"""What a compiler does not see of the house's shape: cycles of includes, sizes of classes and folders, the transport seam.

Each rule has its exceptions in rules.py; one that is no longer needed is a violation, too.
"""
import os
import re
from collections import Counter

import cpp_scan
import rules
from source_tree import blank


def components(graph):
    """The strongly connected components with more than one node, each sorted (Tarjan, without recursion)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in sorted(graph):
        work = [] if root in index else [(root, None)]
        while work:
            node, edges = work.pop()
            if edges is None:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
                edges = iter(sorted(graph.get(node, ())))
            for follower in edges:
                if follower not in index:
                    work += [(node, edges), (follower, None)]
                    break
                if follower in on_stack:
                    low[node] = min(low[node], low[follower])
            else:
                if low[node] == index[node]:
                    members = stack[stack.index(node) :]
                    del stack[-len(members) :]
                    on_stack.difference_update(members)
                    found += [sorted(members)] if len(members) > 1 else []
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
    return found


def edges(tree, name):
    """The graph of includes between the things that name() makes of paths; None: the file is left out."""
    graph = {}
    for path in tree.files:
        for _, _, _, resolved in tree.includes(path):
            source, target = name(path), resolved and name(resolved)
            if source and target and source != target:
                graph.setdefault(source, set()).add(target)
    return graph


def unit(path):
    """A header and its source are one unit."""
    return re.sub(r"\.(?:h|cc|c|cu)$", "", path)


def floor(path):
    """The folder of lib/ that a file belongs to."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "lib" and len(parts) > 2 else None


def classes(tree):
    """(path, class) of every class, the one with most methods first."""
    found = [(path, each) for path in tree.files if not path.endswith(".c") for each in cpp_scan.scan(blank(tree.text[path]))[0]]
    return sorted(found, key=lambda item: (-len(item[1].methods), item[0]))


def folders(tree):
    """(folder, files directly in it), the fullest first; algorithms, one a pair of files, lie together."""
    sizes = Counter(os.path.dirname(path) for path in tree.files)
    return [(folder, size) for folder, size in sizes.most_common() if folder not in rules.ONE_A_PAIR]


def seam_lines(tree):
    """Lines of class Transport with the comment before it; 0 where there is none."""
    lines = tree.text.get(rules.SEAM, "").split("\n")
    if "class Transport {" not in lines:
        return 0
    first = last = lines.index("class Transport {")
    while first and lines[first - 1].startswith("///"):
        first -= 1
    while lines[last] != "};":
        last += 1
    return last - first + 1


def check_cycles(kind, cycles, excepted):
    for members in cycles:
        if not set(members) <= set(excepted):
            yield f"cycle of {kind} that include each other: {', '.join(members)}"
    inside = {member for members in cycles for member in members}
    for member in sorted(set(excepted) - inside):
        yield f"{member}: is in no cycle of {kind} any more; take it out of tests/layering/rules.py"


def check_sizes(what, sizes, most, excepted):
    """sizes: (name, size) of each thing; at most `most`, or the exception's own bound."""
    needed = set()
    for name, size in sizes:
        if size > most:
            needed.add(name)
        if size > excepted.get(name, most):
            yield f"{name}: {size} {what}; at most {excepted.get(name, most)}"
    for name in sorted(set(excepted) - needed):
        yield f"{name}: needs no exception of {most} {what} any more; take it out of tests/layering/rules.py"


class Shape:
    """The measurements of one tree."""

    def __init__(self, tree):
        self.units = len({unit(path) for path in tree.files})
        self.floors = len({floor(path) for path in tree.files} - {None})
        self.file_cycles = components(edges(tree, unit))
        self.floor_cycles = components(edges(tree, floor))
        self.classes = [(f"{path}:{each.name}", len(each.methods)) for path, each in classes(tree)]
        self.facade = [(name, methods) for name, methods in self.classes if name == rules.FACADE]
        self.folders = folders(tree)
        self.seam = seam_lines(tree)

    def violations(self):
        yield from check_cycles("files", self.file_cycles, rules.FILES_IN_CYCLES)
        yield from check_cycles("folders", self.floor_cycles, rules.FOLDERS_IN_CYCLES)
        yield from check_sizes("methods", self.classes, rules.MAX_METHODS, rules.LARGE_CLASSES)
        if not self.facade and any(name.startswith(os.path.dirname(rules.FACADE)) for name, _ in self.classes):
            yield f"{rules.FACADE}: this class is gone; name the facade in tests/layering/rules.py"
        yield from check_sizes("methods of a facade", self.facade, rules.MAX_FACADE_METHODS, {})
        yield from check_sizes("files beside each other", self.folders, rules.MAX_FILES, rules.FULL_FOLDERS)
        if self.seam == 0:
            yield f"{rules.SEAM}: class Transport is gone; name the seam in tests/layering/rules.py"
        yield from check_sizes("lines of class Transport", [(rules.SEAM, self.seam)], rules.MAX_SEAM_LINES, rules.LONG_SEAM)

    def numbers(self):
        """One line a measurement."""
        name, methods = self.classes[0] if self.classes else ("none", 0)
        folder, size = self.folders[0] if self.folders else ("none", 0)
        yield f"file cycles: {len(self.file_cycles)}, of {sum(map(len, self.file_cycles))} among {self.units} files (a source counts with its header)"
        yield f"folder cycles in lib: {len(self.floor_cycles)}, of {sum(map(len, self.floor_cycles))} among {self.floors} folders"
        yield f"largest class: {methods} methods, {name}"
        large = sum(size > rules.MAX_METHODS for _, size in self.classes)
        yield f"classes of more than {rules.MAX_METHODS} methods: {large} of {len(self.classes)}"
        yield from (f"facade: {methods} methods, {name}" for name, methods in self.facade)
        yield f"fullest folder: {size} files, {folder}"
        yield f"class Transport: {self.seam} lines"
