#!/usr/bin/env python3
"""usage: coverage.py ROOT: fails when gossamer.hpp lags behind the C ABI: each function of bindings/abi.json is called in
include/gossamer/cpp/, and each field of its options and settings has a counterpart there."""
import glob
import json
import os
import re
import sys

# What C++ has in other ways.
ELSEWHERE = {
    "goss_wait_all": "BasicRequest::waitAll keeps the error of each request",
    "goss_options_init": "Options has default values",
    "goss_neighborhood_init": "Neighborhood has default values",
    "goss_pipeline_costs_init": "PipelineCosts has default values",
    "goss_codec_functions_init": "registerCodec sets the size",
    "goss_unique_id_create": "createUniqueId calls goss_unique_id_create_with",
}
STRUCTS = {"goss_options": "buffer.hpp", "goss_config": "config.hpp"}


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "bindings", "abi.json"), encoding="utf-8") as file:
        abi = json.load(file)
    text = {}
    for path in glob.glob(os.path.join(root, "include", "gossamer", "cpp", "*.hpp")):
        with open(path, encoding="utf-8") as file:
            text[os.path.basename(path)] = re.sub(r"//[^\n]*", "", file.read())
    called = set(re.findall(r"\bgoss_\w+\b", "\n".join(text.values())))
    found = [f"include/gossamer/cpp calls {name} nowhere" for name in abi["functions"] if name not in called | set(ELSEWHERE)]
    found += [f"{name} is called; take it off ELSEWHERE" for name in ELSEWHERE if name in called]
    for struct, header in STRUCTS.items():
        words = set(re.findall(r"\w+", text[header]))
        found += [f"include/gossamer/cpp/{header} lacks {struct}.{field['name']}" for field in abi["structs"][struct]
                  if field["name"] not in words | {"size"}]
    print("\n".join(found + [f"{len(abi['functions'])} functions, {len(found)} complaints"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
