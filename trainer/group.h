/// The ranks that train together, as the trainer sees them. goss-train's is DataParallel, on Gossamer's C ABI.
#ifndef GOSS_TRAINER_GROUP_H_
#define GOSS_TRAINER_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace goss::trainer {

/// All calls but rank, size and abort are collective: every rank makes them in the same order with the same counts.
/// Buffers are host memory. Failures throw Error with the library's text. One thread.
class Group {
 public:
  virtual ~Group() = default;
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// Starts values[i] = sum over ranks of values[i], in place, and returns. `values` is lent until waitSums.
  virtual void startSum(float* values, std::size_t count) = 0;
  /// Completes every started sum; all ranks then hold identical bits.
  virtual void waitSums() = 0;
  /// As startSum and waitSums, on doubles.
  virtual void sum(std::span<double> values) = 0;
  /// Rank 0's bytes, on every rank.
  virtual void broadcast(void* data, std::size_t bytes) = 0;
  /// True on every rank when all ranks gave the same value.
  virtual bool allEqual(std::uint64_t value) = 0;
  virtual void barrier() = 0;
  /// Local: makes the pending and later calls of every rank fail with `reason`; returns when no buffer is lent any
  /// more.
  virtual void abort(const std::string& reason) noexcept = 0;
};

/// A group of one, for tests and for tools that need no other rank.
class SoloGroup : public Group {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  void startSum(float*, std::size_t) override {}
  void waitSums() override {}
  void sum(std::span<double>) override {}
  void broadcast(void*, std::size_t) override {}
  bool allEqual(std::uint64_t) override { return true; }
  void barrier() override {}
  void abort(const std::string&) noexcept override {}
};

/// Part `index` of `total` things split over `parts`, as [first, last): sizes differ by one at most, the larger come
/// first.
struct Share {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t count() const { return last - first; }
};

inline Share shareOf(std::size_t total, std::size_t parts, std::size_t index) {
  const std::size_t small = total / parts;
  const std::size_t larger = total % parts;
  const std::size_t first = index * small + (index < larger ? index : larger);
  return {first, first + small + (index < larger ? 1 : 0)};
}

} // namespace goss::trainer

#endif // GOSS_TRAINER_GROUP_H_
