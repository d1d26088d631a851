/// A case of tests/matrix on device buffers.
#ifndef GOSS_TESTS_DEVICES_COLLECTIVES_DEVICE_CASE_H_
#define GOSS_TESTS_DEVICES_COLLECTIVES_DEVICE_CASE_H_

#include <cstddef>

#include "tests/devices/collectives/device_rank.h"
#include "tests/matrix/call.h"

namespace goss::test {

/// How a rank calls; onHost: blocking, with host buffers.
enum class Way { blocking, requested, persistent, ordered, orderedPersistent, onHost };
/// The ways in which a rank calls with device buffers.
inline constexpr Way kWays[] = {Way::blocking, Way::requested, Way::persistent, Way::ordered, Way::orderedPersistent};

/// Calls what `test` says, and compares all bytes. False when it failed: the caller gives up, as the ranks are out of
/// step.
bool check(goss_comm_t comm, DeviceRank& device, Case test, int rank, int ranks, Way way);

/// Calls what `test`, which names a codec, says: with host buffers on `other`, and as `way` says on `comm`; both
/// communicators have made the same calls so far. False when they do not end in the same way, with the same bytes: the
/// caller gives up. Counts comparisons; what the library refuses, it must refuse in both.
bool checkCompressed(goss_comm_t comm, goss_comm_t other, DeviceRank& device, Case test, int rank, int ranks, Way way,
                     int& compared);

/// Every collective with codecs that have kernels and one that has none, every algorithm, in place or not, the ways in
/// turn; one case in `stride`.
void callEveryCodec(const DeviceSetup& setup, std::size_t stride);

/// Picks one case in so many, the same ones on all ranks.
class Sample {
 public:
  explicit Sample(std::size_t stride) : stride_(stride) {}
  bool takeNext() { return next_++ % stride_ == 0; }

 private:
  std::size_t next_ = 0;
  const std::size_t stride_;
};

/// One in `stride` of every collective x dtype x op x in place, the ways and a few counts in turn.
void callEveryDtypeAndOp(const DeviceSetup& setup, std::size_t stride);

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_COLLECTIVES_DEVICE_CASE_H_
