"""The rules of docs/architecture.md as data: who may include whom, and what may appear where.

Paths are relative to the repository root. A unit is a folder; the longest matching prefix of UNITS decides which unit a
file belongs to.
"""

C_ABI = ("include/gossamer/abi.h", "include/gossamer/gossamer.h", "include/gossamer/gossamer_mpi.h", "include/gossamer/pipeline.h", "include/gossamer/sync.h",
         "include/gossamer/compression.h", "include/gossamer/links.h")

# unit -> units (or single headers) that its files may include, besides their own unit.
UNITS = {
    "include/gossamer": (),
    "lib/base": ("include/gossamer",),
    "lib/platform": ("include/gossamer", "lib/base"),
    "lib/security": ("include/gossamer", "lib/base", "lib/platform"),
    "lib/kernels": ("include/gossamer", "lib/base"),
    "lib/schedule": ("include/gossamer", "lib/base"),
    "lib/pipeline": ("include/gossamer", "lib/base"),  # runs schedules through the public API
    "lib/core": ("include/gossamer", "lib/base", "lib/platform", "lib/security", "lib/kernels", "lib/schedule", "lib/sync"),
    "lib/capi": ("include/gossamer", "lib/base", "lib/platform", "lib/kernels", "lib/schedule", "lib/core", "lib/pipeline", "lib/sync"),
    "lib/sync": ("include/gossamer", "lib/base", "lib/kernels"),
    "collectives": ("include/gossamer", "lib/base", "lib/schedule"),
    "compressors": ("include/gossamer", "lib/base", "lib/kernels", "compressors/common"),
    "compressors/cuda": ("include/gossamer", "lib/base", "lib/kernels", "compressors"),
    "transports": ("include/gossamer", "lib/base", "lib/platform", "transports/common"),
    "bindings": C_ABI,
    "bench": C_ABI,
    "tools": ("include/gossamer", "lib/base", "lib/platform", "lib/security"),
    "trainer": C_ABI,
    "examples": C_ABI,
    "tests": ("",),  # everything
}

# Each folder under these is a unit of its own with the rules of its parent: one transport never sees another.
SPLIT = ("transports", "compressors", "bindings", "tests")

# Single files that may include more than their unit.
EXTRA = {
    "lib/core/builtins.cc": ("collectives", "compressors", "transports"),
    "compressors/x86/isa_avx2.cc": ("compressors",),  # the loops of all families, once per instruction set
    "compressors/x86/isa_avx512.cc": ("compressors",),
    "compressors/x86/pick.cc": ("compressors",),
    "compressors/portable/pick.cc": ("compressors",),
    "bench/codec_bench.cc": ("compressors",),  # measures what the C ABI does not show
    "bench/device_codec_bench.cc": ("compressors",),  # as the one before
    "bench/tune/limits.cc": ("lib/base", "lib/kernels"),  # as the next
    "bench/kernels_bench.cc": ("lib/base", "lib/kernels"),  # measures what the C ABI does not show
    "bench/explain_topology.cc": ("lib/platform",),  # shows what the C ABI does not
    "bench/memory_limits.cc": ("lib/base", "lib/kernels", "lib/platform"),  # measures the machine below the C ABI
    "bench/goss_check.cc": ("collectives", "lib/schedule"),  # proves what the library is made of
}

# The library proper; what runs above the C ABI is free to have its own threads and variables.
LIBRARY = ("include/", "lib/", "collectives/", "compressors/", "transports/")

# Where the preprocessor may decide (besides header guards and __cplusplus): the platform layer, and the one place where an
# optional dependency or a compiler joins. Prefixes.
CONDITIONAL = (
    "lib/platform/",
    "lib/kernels/",  # one instruction set a translation unit: the same source compiled with other flags
    "include/gossamer/gossamer.h",  # GOSS_API: which compiler
    "include/gossamer/gossamer_mpi.h",
    "lib/core/bootstrap_pmix",
    "compressors/cuda/warp.h",  # a lane is a thread, or a turn of a loop
    "compressors/cuda/launch.h",
    "compressors/sparse/loops.inc.h",  # compiled for an instruction set each, as lib/kernels
    "lib/core/topology",
    "bench/mpi",
    "trainer/blas",
    "transports/ucx/",
    "transports/mpi/",
    "tests/",
)

# UCX does not tell which of its own variables the user has set.
GETENV = ("lib/core/config.cc", "lib/core/launcher_variables.cc", "transports/ucx/worker.cc")
THREADS = ("lib/core/progress",)

# Third-party headers that are kept behind one place: include prefix -> where they may be included.
THIRD_PARTY = {
    "spdlog/": ("lib/base/log.cc",),
    "gtest/": ("tests/",),
    "gmock/": ("tests/",),
    "mpi.h": ("include/gossamer/gossamer_mpi.h", "transports/mpi/", "bindings/", "bench/", "trainer/", "examples/", "tests/"),
    "openssl/": ("lib/security/openssl/", "tools/keys/", "bench/tls_limits.cc", "tests/"),
    "pmix": ("lib/core/", "tests/"),
    "hwloc": ("lib/platform/", "lib/core/topology", "tests/"),
    "ucp/": ("transports/ucx/",),
    "uct/": ("transports/ucx/",),
    "CLI/": ("bench/", "trainer/", "tools/", "tests/"),
    "cblas": ("trainer/",),
    "ATen/": ("trainer/aten/aten_ops.cc",),  # its headers take long to compile, and its flags are its own
    "c10/": ("trainer/aten/aten_ops.cc",),
    "torch/": (),
    "isa-l": ("lib/platform/crc32c.cc",),
    "zstd": ("compressors/lossless/plane_coder.cc",),
    "iostream": (),
}

MAX_LINES = 600
