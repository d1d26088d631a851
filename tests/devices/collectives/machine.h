/// The devices on which collectives are tested: those of the provider that GOSS_TEST_DEVICES names, `threads` or
/// `cuda`. The latter finds the stand-in of tests/cuda or, under scripts/gpu-check, GPU 0, which all ranks share and
/// which neither fails nor counts at a test's wish.
#ifndef GOSS_TESTS_DEVICES_COLLECTIVES_MACHINE_H_
#define GOSS_TESTS_DEVICES_COLLECTIVES_MACHINE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tests/cuda/standin/settings.h"
#include "tests/devices/threads/behaviour.h"

namespace goss::test {

/// "threads" unless GOSS_TEST_DEVICES names another one.
const char* testedProvider();
bool testsStandin();
/// The provider is `cuda`, and its driver is that of a GPU.
bool testsGpu();

/// Each rank has devices of its own, two of them, unless `share`.
struct MachineSetup {
  Behaviour behaviour = {};
  int other_rank = -1; ///< The devices of this rank behave otherwise.
  Behaviour other_behaviour = {};
  bool share = false;                                   ///< All ranks have the same two; the stand-in's alone.
  std::function<void(standin::Settings&)> standin = {}; ///< What the stand-in's devices do besides.
};

/// Before a test's ranks begin.
void makeMachine(const MachineSetup& setup, int ranks);
/// The calling thread plays `rank` from now on: its current device is the first of the rank's. Returns its ordinal.
int playRank(const MachineSetup& setup, int rank);
/// After the rank has made what it tests with: from now on its devices count their jobs until they fail.
void beginToFail(const MachineSetup& setup, int rank);
/// From now on the first device of `rank`, which the calling thread plays, fails.
void failNow(int rank);
/// As failNow(), from the `calls`-th call on `device` that the process makes on, where all ranks share devices.
void failFrom(int calls, int device = 0);
/// How texts name the first device of a rank, where ranks do not share them.
std::string deviceText(int rank);

/// What the process's devices have copied.
Copied copiedBytes();
/// Addresses that providers were asked about.
std::uint64_t classifiedAddresses();
/// Whether the stream takes no jobs of collectives, because it is being captured.
void setCapturing(void* stream, bool captured);
/// Handles of other processes' memory that this one has opened.
std::uint64_t openedHandles();
/// As cudaMemcpy() from pageable memory to the device, which may return before the bytes are there.
void copyToDevice(void* to, const void* from, std::size_t bytes);
/// Memory of a pool, which no handle names; the stand-in's.
void* memoryOfPool(std::size_t bytes);
/// What the stand-in found that no driver allows.
std::uint64_t complaints();

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_COLLECTIVES_MACHINE_H_
