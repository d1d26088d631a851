"""The rules of docs/architecture.md as data: who may include whom, and what may appear where.

Paths are relative to the repository root. A unit is a folder; the longest matching prefix of UNITS decides which unit a
file belongs to.
"""

C_ABI = ("include/gossamer/abi.h", "include/gossamer/gossamer.h", "include/gossamer/gossamer_mpi.h", "include/gossamer/pipeline.h", "include/gossamer/sync.h",
         "include/gossamer/compression.h", "include/gossamer/gossip.h", "include/gossamer/links.h", "include/gossamer/gossamer.hpp",
         "include/gossamer/window.h")

LOW = ("include/gossamer", "lib/base", "lib/platform", "lib/kernels", "lib/schedule")

# unit -> units (or single headers) that its files may include, besides their own unit.
UNITS = {
    "include/gossamer": (),
    "include/gossamer/cpp": C_ABI,  # what gossamer.hpp is made of
    "lib/base": ("include/gossamer",),
    "lib/platform": ("include/gossamer", "lib/base"),
    "lib/security": ("include/gossamer", "lib/base", "lib/platform"),
    "lib/kernels": ("include/gossamer", "lib/base"),
    "lib/schedule": ("include/gossamer", "lib/base"),
    "lib/topology": ("include/gossamer", "lib/base"),
    "lib/pipeline": ("include/gossamer", "lib/base"),  # runs schedules through the public API
    # The floors of the library, lower ones first. LOW: what each of them may include besides.
    "lib/state": LOW,
    "lib/call": LOW + ("lib/builtins",),
    "lib/builtins": LOW,
    "lib/devices": LOW + ("lib/builtins",),
    "lib/bootstrap": LOW + ("lib/security",),
    "lib/mesh": LOW + ("lib/call",),
    "lib/boards": LOW + ("lib/call",),
    "lib/planner": LOW + ("lib/call", "lib/boards", "lib/mesh"),
    "lib/engine": LOW + ("lib/call", "lib/mesh"),
    "lib/health": LOW + ("lib/call", "lib/mesh", "lib/engine"),
    "lib/execution": LOW + ("lib/builtins", "lib/call", "lib/devices", "lib/state", "lib/planner", "lib/boards", "lib/mesh", "lib/engine", "lib/health"),
    "lib/runner": LOW + ("lib/builtins", "lib/call", "lib/devices", "lib/state", "lib/planner", "lib/boards", "lib/mesh", "lib/engine", "lib/health", "lib/execution"),
    "lib/messages": LOW + ("lib/call", "lib/devices", "lib/mesh", "lib/engine"),
    "lib/windows": LOW + ("lib/call", "lib/mesh", "lib/engine"),
    "lib/world": LOW + ("lib/builtins", "lib/bootstrap", "lib/call", "lib/devices", "lib/mesh", "lib/planner", "lib/boards", "lib/engine"),
    "lib/communicator": LOW + ("lib/call", "lib/devices", "lib/state", "lib/mesh", "lib/health", "lib/planner", "lib/boards", "lib/engine", "lib/execution", "lib/runner", "lib/messages", "lib/windows", "lib/world"),
    "lib/survey": LOW + ("lib/communicator", "lib/world"),
    "lib/explain": LOW + ("lib/builtins", "lib/call", "lib/planner", "lib/boards", "lib/execution", "lib/runner"),
    "lib/capi": ("include/gossamer", "lib"),
    "lib/sync": ("include/gossamer", "lib/base", "lib/kernels", "lib/state"),
    "collectives": ("include/gossamer", "lib/base", "lib/schedule"),
    "compressors": ("include/gossamer", "lib/base", "lib/kernels", "compressors/common", "compressors/stage.h"),
    "compressors/cuda": ("include/gossamer", "lib/base", "lib/kernels", "compressors"),
    "transports": ("include/gossamer", "lib/base", "lib/platform", "transports/common"),
    "devices": ("include/gossamer", "lib/base", "lib/platform", "compressors/cuda/library"),  # whose kernels it loads
    "bindings": C_ABI,
    # NCCL's interface orders streams among each other by the device seam, and asks devices whether they have failed.
    "bindings/nccl": C_ABI + ("include/gossamer/device.h", "include/gossamer/status.h", "devices/cuda", "lib/devices/device_watch.h"),
    "bench": C_ABI + ("tools/commandline",),
    # Runs what the library is made of over a simulated C ABI.
    "bench/sim": C_ABI + ("include/gossamer", "lib/base", "lib/builtins", "lib/call", "lib/health", "lib/planner", "lib/schedule", "lib/state", "lib/sync", "lib/topology", "tools/commandline"),
    "tools": ("include/gossamer", "lib/base", "lib/platform", "lib/security", "tools/commandline"),
    "tools/commandline": (),
    "trainer": C_ABI + ("tools/commandline",),  # main.cc: the floors below, the lower ones first
    "trainer/base": (),
    "trainer/compute": ("trainer/base",),
    "trainer/model": ("trainer/base", "trainer/compute"),
    "trainer/data": ("trainer/base", "trainer/model"),
    "trainer/ranks": C_ABI + ("trainer/base", "trainer/compute"),
    "trainer/files": ("trainer/base", "trainer/model"),
    "trainer/run": ("tools/commandline", "trainer/base", "trainer/compute", "trainer/model", "trainer/data", "trainer/files", "trainer/ranks"),
    "trainer/loop": ("trainer/base", "trainer/compute", "trainer/model", "trainer/data", "trainer/files", "trainer/ranks", "trainer/run"),
    "trainer/pipeline": C_ABI + ("trainer",),  # the highest but for main.cc
    "examples": C_ABI,
    "tests": ("",),  # everything
}

# Python packages: a module imports those of the lines above its own when it is loaded. Beside them it may load the standard library,
# and what LOADS lists.
PYTHON = {
    "bindings/python/gossamer": (
        ("_abi",),
        ("_library",),
        ("_errors",),
        ("_buffers", "_counters", "_options", "_topology", "_waiting"),
        ("_request",),
        ("_codec_state", "_neighbors"),
        ("_comm",),
        ("_information", "_world"),
        ("_synchronizer",),
        ("__init__",),
        ("torch/_older", "torch/_options", "torch/_reductions", "torch/_work"),
        ("torch/_streams",),
        ("torch/_group",),
        ("torch/_hooks",),
        ("torch/_fsdp", "torch/_shrink", "torch/comms", "torch/torchft"),
        ("torch/__init__",),
    ),
}
LOADS = {"bindings/python/gossamer/torch/": ("torch", "torchcomms", "torchft")}

# Each folder under these is a unit of its own with the rules of its parent: one transport never sees another.
SPLIT = ("transports", "devices", "compressors", "bindings", "tests")

# Single files that may include more than their unit.
EXTRA = {
    "lib/builtins/builtins.cc": ("lib/security", "collectives", "compressors", "transports"),
    "compressors/x86/isa_avx2.cc": ("compressors",),  # the loops of all families, once per instruction set
    "compressors/x86/isa_avx512.cc": ("compressors",),
    "compressors/x86/pick.cc": ("compressors",),
    "compressors/portable/pick.cc": ("compressors",),
    "bench/limits/codec_bench.cc": ("compressors",),  # measures what the C ABI does not show
    "bench/limits/device_codec_bench.cc": ("compressors",),  # as the one before
    "bench/limits/device_limits.cc": ("include/gossamer", "devices/cuda", "lib/devices", "lib/platform", "compressors/cuda/library"),  # measures a GPU below it
    "bench/tune/limits.cc": ("lib/base", "lib/kernels"),  # as the next
    "bench/limits/kernels_bench.cc": ("lib/base", "lib/kernels"),  # measures what the C ABI does not show
    "bench/explain_topology.cc": ("lib/platform",),  # shows what the C ABI does not
    "bench/limits/memory_limits.cc": ("lib/base", "lib/kernels", "lib/platform"),  # measures the machine below the C ABI
    "bench/limits/goss_check.cc": ("collectives", "lib/schedule"),  # proves what the library is made of
}

# The library proper; what runs above the C ABI is free to have its own threads and variables.
LIBRARY = ("include/", "lib/", "collectives/", "compressors/", "transports/", "devices/")

# Where the preprocessor may decide (besides header guards and __cplusplus): the platform layer, and the one place where an
# optional dependency or a compiler joins. Prefixes.
CONDITIONAL = (
    "lib/platform/",
    "lib/kernels/",  # one instruction set a translation unit: the same source compiled with other flags
    "include/gossamer/gossamer.h",  # GOSS_API: which compiler
    "include/gossamer/gossamer_mpi.h",
    "lib/bootstrap/pmix",
    "compressors/cuda/kernels/warp.h",  # a lane is a thread, or a turn of a loop
    "compressors/cuda/kernels/launch.h",
    "compressors/sparse/loops.inc.h",  # compiled for an instruction set each, as lib/kernels
    "transports/ucx/",
    "transports/mpi/",
    "tests/",
)

# UCX does not tell which of its own variables the user has set.
GETENV = ("lib/world/config.cc", "lib/bootstrap/launcher_variables.cc", "transports/ucx/worker.cc")
# The watch of a device asks the driver what the progress thread must not: the answer may wait for gates that it opens.
THREADS = ("lib/engine/progress_thread", "lib/devices/device_watch")

# Third-party headers that are kept behind one place: include prefix -> where they may be included.
THIRD_PARTY = {
    "spdlog/": ("lib/base/log.cc",),
    "gtest/": ("tests/",),
    "gmock/": ("tests/",),
    "mpi.h": ("include/gossamer/gossamer_mpi.h", "transports/mpi/", "bindings/", "bench/", "trainer/", "examples/", "tests/"),
    "openssl/": ("lib/security/openssl/", "tools/keys/", "bench/limits/tls_limits.cc", "tests/"),
    "pmix": ("lib/bootstrap/pmix.cc", "tests/"),
    "hwloc": ("lib/platform/", "tests/"),
    "ucp/": ("transports/ucx/",),
    "uct/": ("transports/ucx/",),
    "CLI/": ("tools/commandline/command_line.cc",),  # its headers take ten seconds to compile
    "cblas": ("trainer/",),
    "ATen/": ("trainer/compute/aten/aten_ops.cc",),  # its headers take long to compile, and its flags are its own
    "c10/": ("trainer/compute/aten/aten_ops.cc",),
    "torch/": (),
    "isa-l": ("lib/platform/crc32c.cc",),
    "zstd": ("compressors/lossless/plane_coder.cc", "lib/bootstrap/wire.cc"),
    "iostream": (),
}

MAX_LINES = 600

# The shape of the house, and where it is not reached yet. Exceptions are bounds: nothing may grow beyond them, and one that is no
# longer needed must go.

# Files (a source counts with its header, without the ending) that may include each other in a circle.
FILES_IN_CYCLES = ()
# Folders of lib/ that may.
FOLDERS_IN_CYCLES = ()

MAX_METHODS = 40  # declared in a class, constructors and private ones included
LARGE_CLASSES = {}

# A class that only holds parts together, and its bound.
FACADE = "lib/communicator/communicator.h:Communicator"
MAX_FACADE_METHODS = 35

MAX_FILES = 45  # beside each other in a folder
ONE_A_PAIR = ("collectives",)  # an algorithm a pair of files
FULL_FOLDERS = {}

SEAM = "include/gossamer/transport.h"
MAX_SEAM_LINES = 120  # class Transport with its comments
LONG_SEAM = {}
