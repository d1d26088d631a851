// Random programs of all ranks at once against what each would see alone.
#include <algorithm>
#include <cstring>

#include "base/split_mix.h"
#include "tests/lib/windows/over_transports/over_transport.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

constexpr std::size_t kOwn = 500;   ///< Elements of each target that one origin alone uses.
constexpr std::size_t kShared = 50; ///< Elements at the end to which all add.

/// What one origin does, and what must come out.
class Origin {
 public:
  Origin(const OwnWindow<std::int32_t>& window, int rank, int ranks, std::uint64_t seed)
      : window_(window),
        ranks_(static_cast<std::size_t>(ranks)),
        first_(static_cast<std::size_t>(rank) * kOwn),
        random_(seed * 64 + static_cast<std::uint64_t>(rank)),
        model_(ranks_, std::vector<std::int32_t>(kOwn)),
        added_(ranks_, std::vector<std::int32_t>(kShared)) {}

  void step() {
    const auto target = random_.below(ranks_);
    const std::size_t at = random_.below(kOwn), count = random_.below(kOwn - at + 1);
    std::vector<std::int32_t>& mine = model_[target];
    std::vector<std::int32_t> values(count);
    for (std::int32_t& value : values)
      value = static_cast<std::int32_t>(random_.below(2000)) - 1000;
    const auto where = static_cast<std::int32_t>(target);
    switch (random_.below(5)) {
      case 0:
        EXPECT_OK(goss_window_put(window_.handle, values.data(), count, where, first_ + at, nullptr, nullptr));
        std::copy(values.begin(), values.end(), mine.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        EXPECT_OK(goss_window_accumulate(window_.handle, values.data(), count, GOSS_MAX, where, first_ + at, nullptr,
                                         nullptr));
        for (std::size_t i = 0; i < count; ++i)
          mine[at + i] = std::max(mine[at + i], values[i]);
        break;
      case 2:
        values.resize(kShared, 1);
        EXPECT_OK(goss_window_accumulate(window_.handle, values.data(), kShared, GOSS_SUM, where, ranks_ * kOwn,
                                         nullptr, nullptr));
        for (std::size_t i = 0; i < kShared; ++i)
          added_[target][i] += values[i];
        break;
      case 3:
        EXPECT_OK(goss_window_flush(window_.handle, where, nullptr));
        break;
      default:
        EXPECT_OK(goss_window_get(window_.handle, values.data(), count, where, first_ + at, nullptr, nullptr));
        EXPECT_TRUE(std::equal(values.begin(), values.end(), mine.begin() + static_cast<std::ptrdiff_t>(at)));
    }
  }
  /// What it has added to the shared elements of each target, one after the other.
  [[nodiscard]] std::vector<std::int32_t> added() const {
    std::vector<std::int32_t> all;
    for (const auto& one : added_)
      all.insert(all.end(), one.begin(), one.end());
    return all;
  }

 private:
  const OwnWindow<std::int32_t>& window_;
  const std::size_t ranks_;
  const std::size_t first_;
  base::SplitMix64 random_;
  std::vector<std::vector<std::int32_t>> model_; ///< By target.
  std::vector<std::vector<std::int32_t>> added_;
};

TEST_P(OverTransport, RandomProgramsOfAllRanksAtOnceSeeWhatEachWouldSeeAlone) {
  const int steps = fullOr(300, 80);
  for (const int ranks : {1, 3, 6}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(seed);
      run(ranks, [&](goss_comm_t comm, int rank) {
        const auto size = static_cast<std::size_t>(ranks);
        OwnWindow<std::int32_t> window(comm, std::vector<std::int32_t>(size * kOwn + kShared), GOSS_INT32);
        Origin origin(window, rank, ranks, seed);
        for (int i = 0; i < steps; ++i)
          origin.step();
        ASSERT_OK(goss_window_flush(window.handle, GOSS_ALL_TARGETS, nullptr));
        std::vector<std::int32_t> sums = origin.added();
        ASSERT_OK(goss_all_reduce(comm, sums.data(), sums.data(), sums.size(), GOSS_INT32, GOSS_SUM, nullptr, nullptr));
        const auto own = sums.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * kShared);
        EXPECT_TRUE(std::equal(own, own + kShared, window.memory.end() - kShared));
      });
    }
  }
}

} // namespace
} // namespace goss::test
