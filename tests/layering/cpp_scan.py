"""A plain reader of C++ in this project's layout: finds classes with their methods, and functions with their lines.

It knows braces, parentheses and where a statement ends, and nothing of macros. The text must be without comments
(source_tree.blank).
"""
import re
from dataclasses import dataclass, field

MARK = re.compile(r"[(){};]")
LABEL = re.compile(r"^\s*(?:public|protected|private)\s*:")
NOISE = re.compile(r"\[\[.*?\]\]|\b(?:alignas|__attribute__|__launch_bounds__)\s*\((?:[^()]|\([^()]*\))*\)", re.S)
CLASS = re.compile(r"^(?:class|struct)\s+((?:\w+::)*\w+)(?:\s*<.*>)?(?:\s+final)?\s*(?::(?!:).*)?$", re.S)
NO_FUNCTION = re.compile(r"^(?:using|typedef|friend|static_assert|enum|namespace|class|struct|union|return|else|do)\b")
NO_NAME = ("decltype", "noexcept", "if", "for", "while", "switch", "catch", "sizeof", "requires")


@dataclass
class Class:
    """A class or struct; `methods` counts declarations, constructors, private and deleted ones included."""

    name: str
    line: int
    last_line: int = 0
    methods: list = field(default_factory=list)


@dataclass
class Function:
    """A function with a body: from the first line of its head to that of its closing brace."""

    name: str
    line: int
    last_line: int

    @property
    def lines(self):
        return self.last_line - self.line + 1


def angle_depths(text):
    """(position, letter, how many template argument lists it lies in) of each letter; those inside of parentheses in such lists are
    left out."""
    angles = parentheses = 0
    for at, letter in enumerate(text):
        if angles and letter in "()":
            parentheses += 1 if letter == "(" else -1
        elif not parentheses:
            if letter == "<":
                angles += 1
            yield at, letter, angles
            if letter == ">" and text[at - 1] != "-":
                angles -= 1


def without_template(head):
    """head without the template<...> before it."""
    while head.startswith("template"):
        ends = [at for at, letter, depth in angle_depths(head) if letter == ">" and depth == 1]
        if not ends:
            return ""
        head = head[ends[0] + 1 :].strip()
    return head


def clean(statement):
    """A statement's beginning without labels, attributes and template parameters."""
    statement = LABEL.sub("", statement).strip()
    return without_template(NOISE.sub(" ", statement).strip())


def function_name(head):
    """The name of the function that head declares or begins to define; None where it is something else."""
    if NO_FUNCTION.match(head):
        return None
    operator = re.search(r"\boperator\b", head)
    if operator and "=" not in head[: operator.start()]:
        return "operator"
    for at, letter, depth in angle_depths(head):
        if letter == "(" and depth == 0:
            name = re.search(r"(~?\w+)(?:<[^<>]*>)?\s*$", head[:at])
            known = name and name.group(1) not in NO_NAME and "=" not in head[:at] and head[at + 1 : at + 2] != "*"
            return name.group(1) if known else None
    return None


class Scanner:
    """Reads one text; afterwards `classes` and `functions` are what it holds."""

    def __init__(self, text):
        # Directives are no statements; their lines stay, empty.
        self.text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", lambda match: "\n" * match.group(0).count("\n"), text, flags=re.M)
        self.marks = [(match.start(), match.group(0)) for match in MARK.finditer(self.text)]
        self.starts = [0] + [match.end() for match in re.finditer("\n", self.text)]
        self.partner = self._partners()
        self.classes, self.functions = [], []
        self._scope(0, len(self.marks), 0, None)

    def _partners(self):
        open_marks, partner = [], {}
        for index, (_, letter) in enumerate(self.marks):
            if letter in "({":
                open_marks.append(index)
            elif letter in ")}" and open_marks:
                partner[open_marks.pop()] = index
        return partner

    def _line(self, offset):
        low, high = 0, len(self.starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.starts[middle] <= offset else (low, middle)
        return low + 1

    def _scope(self, index, end, start, owner):
        """Statements between two marks; start: where the first begins; owner: the class whose body it is, or None."""
        while index < end:
            offset, letter = self.marks[index]
            if letter == "(":
                index = self.partner.get(index, end)
            elif letter == ";":
                self._declared(self.text[start:offset], owner)
                start = offset + 1
            elif letter == "{":
                closing = self.partner.get(index, end)
                start = self._braces(index, closing, start, owner)
                index = closing
            index += 1

    def _declared(self, statement, owner):
        if owner:
            name = function_name(clean(statement))
            if name:
                owner.methods.append(name)

    def _braces(self, index, closing, start, owner):
        """What stands in braces; returns where the next statement begins."""
        offset = self.marks[index][0]
        after = self.marks[closing][0] + 1 if closing < len(self.marks) else len(self.text)
        head = clean(self.text[start:offset])
        following = self.text[after:].lstrip()[:1] if after < len(self.text) else ""
        named = CLASS.match(head)
        if named:
            found = Class(named.group(1), self._line(offset), self._line(after - 1))
            self.classes.append(found)
            self._scope(index + 1, closing, offset + 1, found)
            return after
        if re.match(r"^(?:inline\s+)?namespace\b|^extern\s*\"\"$", head):
            self._scope(index + 1, closing, offset + 1, None)
            return after
        if following in (",", "{", ";"):  # an initializer in braces; the statement goes on
            return start
        name = function_name(head)
        if name:
            first = start + len(self.text[start:offset]) - len(LABEL.sub("", self.text[start:offset]).lstrip())
            self.functions.append(Function(name, self._line(first), self._line(after - 1)))
            if owner:
                owner.methods.append(name)
        return after


def scan(text):
    """The classes and the functions of a text without comments."""
    scanner = Scanner(text)
    return scanner.classes, scanner.functions
