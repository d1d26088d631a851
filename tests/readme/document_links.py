#!/usr/bin/env python3
"""usage: document_links.py ROOT: fails when a document links to a file of the repository that is not there, and when the index
docs/README.md leaves out a document."""
import os
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def documents(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in ("build", ".git", "shared")]
        yield from (os.path.join(folder, name) for name in names if name.endswith(".md"))


def main():
    root = os.path.abspath(sys.argv[1])
    found, checked, indexed = [], 0, set()
    index = os.path.join(root, "docs", "README.md")
    for document in documents(root):
        with open(document, encoding="utf-8") as file:
            text = re.sub(r"```.*?```", "", file.read(), flags=re.S)
        for target in LINK.findall(text):
            if "://" in target or target.startswith("mailto:"):
                continue
            checked += 1
            path = os.path.normpath(os.path.join(os.path.dirname(document), target))
            if document == index:
                indexed.add(path)
            if not os.path.exists(path):
                found.append(f"{os.path.relpath(document, root)}: links to {target}, which is not there")
    for document in documents(os.path.join(root, "docs")):
        if document not in indexed | {index}:
            found.append(f"docs/README.md: leaves out {os.path.relpath(document, root)}")
    print("\n".join(found + [f"{checked} links, {len(found)} wrong"]))
    return 1 if found or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
