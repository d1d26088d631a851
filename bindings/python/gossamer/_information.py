"""What the library knows: plans, codecs, methods."""

import ctypes
from typing import Any, Dict, List, Optional

from ._errors import check
from ._library import library, take_json

__all__ = ["codecs", "explain", "sync_methods", "version"]


def version() -> str:
    """The version of the library that was loaded, such as "0.1.0"."""
    number = library.goss_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def explain(collective: str, ranks: int, nbytes: int, codec: Optional[str] = None, links: Optional[str] = None) -> Dict[str, Any]:
    """Local: prices every algorithm for a collective ("allreduce", "broadcast", ...) of ``nbytes`` over ``ranks`` ranks, and says
    which one is chosen and why. ``codec``: for float32 compressed with it. ``links``: the text of a link file, as
    Comm.measure_links() gives; None: one host's built-in prices."""
    text = ctypes.c_char_p()
    named = None if links is None else links.encode()
    if codec is None:
        check(library.goss_explain(collective.encode(), ranks, nbytes, named, text))
    else:
        check(library.goss_explain_codec(collective.encode(), ranks, nbytes, codec.encode(), named, text))
    return take_json(text)  # type: ignore[no-any-return]


def codecs() -> List[Dict[str, str]]:
    """What specs of codecs are made of: dictionaries with name and stage ("sparsifier", "values", "feedback", "alias"), and the spec of
    an alias. docs/compressors.md says what they do and how they are combined."""
    text = ctypes.c_char_p()
    check(library.goss_codecs(text))
    return take_json(text)  # type: ignore[no-any-return]


def sync_methods() -> List[Dict[str, Any]]:
    """All methods of Synchronizer: dictionaries with name, summary, paper, depends_on_time and parameters (key, default, meaning)."""
    text = ctypes.c_char_p()
    check(library.goss_sync_methods(text))
    return take_json(text)  # type: ignore[no-any-return]
