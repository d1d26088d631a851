"""Copied code: lines that lie in a window of lines which occurs more than once."""
from collections import Counter

WINDOW = 6


def windows(lines):
    """Every run of WINDOW lines, as (first index, the lines)."""
    for first in range(len(lines) - WINDOW + 1):
        yield first, tuple(lines[first : first + WINDOW])


def counted(code):
    """The lines of a text without comments that count: what has no letter (a brace, say) and what includes does not."""
    stripped = (" ".join(line.split()) for line in code.split("\n"))
    return [line for line in stripped if any(letter.isalpha() for letter in line) and not line.startswith(("#", "namespace", "} // namespace"))]


def cloned_lines(texts):
    """(lines in windows that occur more than once, lines) over texts without comments. Windows do not reach across files."""
    files = [counted(code) for code in texts]
    occurrences = Counter(window for lines in files for _, window in windows(lines))
    cloned = 0
    for lines in files:
        inside = {first + i for first, window in windows(lines) if occurrences[window] > 1 for i in range(WINDOW)}
        cloned += len(inside)
    return cloned, sum(map(len, files))
