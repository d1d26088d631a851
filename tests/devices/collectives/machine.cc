#include "tests/devices/collectives/machine.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "devices/cuda/driver/driver_api.h"

namespace goss::test {

namespace {

constexpr int kDevicesOfRank = 2;

/// A function of the driver, which the provider `cuda` loads in the same way; null when the driver has none of the
/// name.
void* findInDriver(const char* name) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  return library == nullptr ? nullptr : ::dlsym(library, name);
}

/// As findInDriver(), for the driver's interface and, where the driver is the stand-in, that of the stand-in.
template <typename F>
F* driverFunction(F*, const char* name) {
  void* found = findInDriver(name);
  if (found == nullptr)
    throw std::runtime_error(std::string(name) + " is missing: LD_LIBRARY_PATH must lead to the stand-in libcuda.so.1");
  return reinterpret_cast<F*>(found);
}

bool testsProviderCuda() { return std::string_view(testedProvider()) == "cuda"; }

// Of pointers that are not followed: the program is not linked with the stand-in.
constexpr decltype(&cudaStandinConfigure) kConfigure = nullptr;
constexpr decltype(&cudaStandinFail) kFail = nullptr;
constexpr decltype(&cudaStandinCounts) kCounts = nullptr;
constexpr decltype(&cuDevicePrimaryCtxRetain) kRetain = nullptr;
constexpr decltype(&cuCtxSetCurrent) kSetCurrent = nullptr;
constexpr decltype(&cuMemAllocAsync) kAllocAsync = nullptr;
constexpr decltype(&cuMemcpyHtoD_v2) kToDevice = nullptr;
constexpr decltype(&cuStreamBeginCapture_v2) kBeginCapture = nullptr;
constexpr decltype(&cuStreamEndCapture) kEndCapture = nullptr;

/// All are 0 on a GPU, whose driver counts nothing.
standin::Counts standinCounts() {
  standin::Counts counts;
  if (testsGpu()) return counts;
  driverFunction(kCounts, "cudaStandinCounts")(&counts);
  return counts;
}

int firstDeviceOf(const MachineSetup& setup, int rank) {
  return testsStandin() && !setup.share ? kDevicesOfRank * rank : 0;
}

} // namespace

const char* testedProvider() {
  const char* named = std::getenv("GOSS_TEST_DEVICES");
  return named == nullptr ? "threads" : named;
}

bool testsStandin() { return testsProviderCuda() && findInDriver("cudaStandinConfigure") != nullptr; }

bool testsGpu() { return testsProviderCuda() && !testsStandin(); }

void makeMachine(const MachineSetup& setup, int ranks) {
  if (!testsStandin()) return;
  standin::Settings settings;
  settings.devices = kDevicesOfRank * (setup.share ? 1 : ranks);
  settings.delay_us = setup.behaviour.latency_us;
  settings.one_queue = setup.behaviour.one_queue;
  const char* memops = std::getenv("CUDA_STANDIN_MEMOPS"); // Of a run of all tests.
  settings.memops = memops == nullptr ? 1 : std::atoi(memops);
  if (setup.standin) setup.standin(settings);
  driverFunction(kConfigure, "cudaStandinConfigure")(settings);
}

int playRank(const MachineSetup& setup, int rank) {
  const int first = firstDeviceOf(setup, rank);
  if (!testsProviderCuda()) {
    useNewDevices(rank == setup.other_rank ? setup.other_behaviour : setup.behaviour);
    return first;
  }
  CUcontext context = nullptr;
  driverFunction(kRetain, "cuDevicePrimaryCtxRetain")(&context, first);
  driverFunction(kSetCurrent, "cuCtxSetCurrent")(context);
  return first;
}

void beginToFail(const MachineSetup& setup, int rank) {
  const long jobs = (rank == setup.other_rank ? setup.other_behaviour : setup.behaviour).fail_at;
  if (!testsProviderCuda() || jobs == 0) return;
  driverFunction(kFail, "cudaStandinFail")(firstDeviceOf(setup, rank), static_cast<std::uint64_t>(jobs));
}

void failNow(int rank) {
  if (!testsProviderCuda()) return failFirstDevice();
  driverFunction(kFail, "cudaStandinFail")(firstDeviceOf({}, rank), 1);
}

void failFrom(int calls, int device) {
  driverFunction(kFail, "cudaStandinFail")(device, static_cast<std::uint64_t>(calls));
}

std::string deviceText(int rank) {
  if (!testsProviderCuda()) return "threads device 0 failed";
  return "cuda device " + std::to_string(firstDeviceOf({}, rank)) + " (Stand-in device ";
}

Copied copiedBytes() {
  if (!testsProviderCuda()) return copiedByThreads();
  const standin::Counts counts = standinCounts();
  return {counts.to_host, counts.to_device, counts.within};
}

std::uint64_t classifiedAddresses() { return testsProviderCuda() ? standinCounts().classified : classifiedByThreads(); }

void setCapturing(void* stream, bool captured) {
  if (!testsProviderCuda()) return setCaptured(stream, captured);
  auto* const handle = static_cast<CUstream>(stream);
  CUgraph graph = nullptr;
  if (captured) {
    driverFunction(kBeginCapture, "cuStreamBeginCapture_v2")(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
  } else {
    driverFunction(kEndCapture, "cuStreamEndCapture")(handle, &graph);
  }
}

std::uint64_t openedHandles() { return standinCounts().opened; }

void copyToDevice(void* to, const void* from, std::size_t bytes) {
  const auto address = reinterpret_cast<CUdeviceptr>(to);
  const CUresult error = driverFunction(kToDevice, "cuMemcpyHtoD_v2")(address, from, bytes);
  if (error != CUDA_SUCCESS) throw std::runtime_error("cuMemcpyHtoD: error " + std::to_string(error));
}

void* memoryOfPool(std::size_t bytes) {
  CUdeviceptr memory = 0;
  const CUresult error = driverFunction(kAllocAsync, "cuMemAllocAsync")(&memory, bytes, nullptr);
  if (error != CUDA_SUCCESS) throw std::runtime_error("cuMemAllocAsync: error " + std::to_string(error));
  return reinterpret_cast<void*>(memory);
}

std::uint64_t complaints() { return testsStandin() ? standinCounts().complaints : 0; }

} // namespace goss::test
