#include "trainer/compute/backend.h"

#include <dlfcn.h>

#include <cstdlib>

#include "trainer/base/error.h"
#include "trainer/compute/aten/aten_ops.h"
#include "trainer/compute/cpu_ops.h"

namespace goss::trainer {

namespace {

/// This process's number on its host, from its launcher's variables; 0 without a launcher.
int localRank() {
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) return std::atoi(value);
  }
  return 0;
}

/// The loader searches the folders of this program's own libraries and the system's.
MakeAtenOps* loadAten() {
  void* library = ::dlopen(kAtenLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    fail(
        "--backend aten: {}. This goss-train was built without LibTorch, or it is gone: apt-get install libtorch-dev "
        "(or "
        "set CMAKE_PREFIX_PATH to a LibTorch with CUDA), configure with -DGOSS_TORCH=ON, and build again",
        ::dlerror());
  }
  auto* make = reinterpret_cast<MakeAtenOps*>(::dlsym(library, kAtenSymbol));
  if (make == nullptr) fail("--backend aten: {} is of another version: {}", kAtenLibrary, ::dlerror());
  return make;
}

} // namespace

std::unique_ptr<Ops> makeOps(const std::string& backend, const std::string& device, const std::string& precision) {
  auto on_cpu = std::make_unique<CpuOps>(); // sets OpenBLAS, which Debian's LibTorch uses too, to one thread
  if (backend == "cpu") return on_cpu;
  if (backend != "aten") fail("there is no backend '{}'; there are cpu and aten", backend);
  return std::unique_ptr<Ops>(loadAten()(device.c_str(), localRank(), precision == "bf16"));
}

} // namespace goss::trainer
