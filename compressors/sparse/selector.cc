#include "compressors/sparse/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "compressors/sparse/shortlist.h"

namespace goss::compressors {

namespace {

std::size_t wanted(double ratio, std::size_t count) {
  const auto k = static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(count)));
  return std::min(k, count);
}

double ratioOf(std::size_t some, std::size_t count) {
  return count == 0 ? 1 : static_cast<double>(some) / static_cast<double>(count);
}

std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

/// Magnitudes from `low` to `high`, both included.
struct Between {
  std::uint32_t low = 0;
  std::uint32_t high = 0x7fffffff;
};

/// The k-th largest (k >= 1) of magnitude_at(0) to magnitude_at(count - 1), by passes that each narrow the range to one
/// of 2048 buckets. All of the k largest are in the range. `ties` tells how many magnitudes equal to it are among the
/// first k. With fewer `passes` the lower bits are those of the bucket's lower end.
template <typename MagnitudeAt>
Cut kthLargest(std::size_t count, std::uint64_t k, MagnitudeAt magnitude_at, Between range = {}, int passes = 3) {
  constexpr int kDigit = 11;
  for (int shift = 1; passes > 0 && shift > 0; --passes) {
    shift = std::max(0, static_cast<int>(std::bit_width(range.high - range.low)) - kDigit);
    // Four histograms used in turn, so that additions to the same bucket do not wait for each other.
    std::array<std::array<std::uint32_t, 1u << kDigit>, 4> histogram{};
    const std::uint32_t width = range.high - range.low;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t place = magnitude_at(i) - range.low;
      if (place <= width) {
        ++histogram[i % 4][place >> shift];
      }
    }
    std::uint32_t bucket = width >> shift;
    for (;; --bucket) {
      const std::uint64_t here =
          std::uint64_t{histogram[0][bucket]} + histogram[1][bucket] + histogram[2][bucket] + histogram[3][bucket];
      if (here >= k || bucket == 0) {
        break;
      }
      k -= here;
    }
    range.low += bucket << shift;
    range.high = std::min(range.high, range.low + ((1u << shift) - 1));
  }
  Cut cut;
  cut.threshold = range.low;
  cut.ties = k;
  return cut;
}

/// The k-th largest of every stride-th value.
Cut kthLargest(const float* values, std::size_t count, std::size_t stride, std::uint64_t k) {
  return kthLargest((count + stride - 1) / stride, k, [=](std::size_t i) { return magnitude(values[i * stride]); });
}

/// Finding the cut among all values takes a pass for each digit. A sample gives a lower threshold, which somewhat more
/// than k values reach; one pass gathers those, and the exact cut is found among them. A sample that is not
/// representative costs only time.
class Shortlist {
 public:
  Shortlist(const float* values, std::size_t count, std::size_t k)
      : values_(values), count_(count), k_(k), plan_(count, k) {}

  /// Candidates that a good sample lets through.
  [[nodiscard]] static std::size_t most(std::size_t count, std::size_t k) { return std::min(count, 2 * k + kGroup); }
  [[nodiscard]] bool pays() const { return plan_.pays() && 2 * k_ < count_; }

  /// More than k magnitudes are at least this, if the sample, whole cache lines evenly apart, is representative.
  [[nodiscard]] std::uint32_t threshold() const {
    const std::size_t apart = count_ / plan_.groups;
    const auto at = [this, apart](std::size_t i) { return magnitude(values_[i / kGroup * apart + i % kGroup]); };
    return kthLargest(plan_.groups * kGroup, plan_.wanted(), at, {}, 2).threshold;
  }

  /// indices[0 .. listed): in, all candidates, listed >= k; out, the k selected first. Returns k. `magnitudes` holds as
  /// many: values that are read four times are fetched only once from all over the vector.
  std::size_t cutDown(std::uint32_t* indices, std::uint32_t* magnitudes, std::size_t listed) const {
    Between range{0x7fffffff, 0};
    for (std::size_t i = 0; i < listed; ++i) {
      magnitudes[i] = magnitude(values_[indices[i]]);
      range = {std::min(range.low, magnitudes[i]), std::max(range.high, magnitudes[i])};
    }
    const auto at = [magnitudes](std::size_t i) { return magnitudes[i]; };
    const Cut cut = kthLargest(listed, k_, at, range);
    std::size_t kept = 0;
    std::uint64_t ties = 0;
    for (std::size_t i = 0; i < listed; ++i) {
      const std::uint32_t index = indices[i], bits = at(i);
      const bool tie = bits == cut.threshold && ties < cut.ties;
      ties += tie ? 1 : 0;
      indices[kept] = index;
      kept += bits > cut.threshold || tie ? 1 : 0;
    }
    return kept;
  }

 private:
  static constexpr std::size_t kGroup = SamplePlan::kGroup;

  const float* values_;
  const std::size_t count_;
  const std::size_t k_;
  const SamplePlan plan_;
};

class ExactTopK final : public Selector {
 public:
  ExactTopK(double ratio, const SparseLoops& loops) : ratio_(ratio), loops_(loops) {}
  [[nodiscard]] std::string spec() const override { return fmt::format("topk:ratio={},select=exact", ratio_); }
  [[nodiscard]] std::size_t most(std::size_t count) const override { return wanted(ratio_, count); }
  [[nodiscard]] bool takesMost() const override { return true; }
  [[nodiscard]] std::size_t room(std::size_t count) const override { return 2 * Shortlist::most(count, most(count)); }
  [[nodiscard]] double share(std::size_t count) const override { return ratioOf(most(count), count); }
  [[nodiscard]] bool stable() const override { return true; }
  std::size_t select(const float* values, std::size_t count, std::uint32_t* indices) const override {
    const std::size_t k = most(count);
    if (k == 0) {
      return 0;
    }
    if (const Shortlist list(values, count, k); list.pays()) {
      const std::size_t space = Shortlist::most(count, k);
      const std::uint32_t threshold = std::max(1u, list.threshold()); // Zeros are never short-listed.
      const std::size_t listed = loops_.gather(values, count, threshold, space, indices);
      if (listed >= k && listed <= space) {
        return list.cutDown(indices, indices + space, listed);
      }
      if (listed < k && threshold == 1) {
        return loops_.collect(values, count, {0, k - listed}, indices);
      }
    }
    return loops_.collect(values, count, kthLargest(values, count, 1, k), indices);
  }

 private:
  const double ratio_;
  const SparseLoops& loops_;
};

class SampledTopK final : public Selector {
 public:
  SampledTopK(double ratio, const SparseLoops& loops) : ratio_(ratio), loops_(loops), exact_(ratio, loops) {}
  [[nodiscard]] std::string spec() const override { return fmt::format("topk:ratio={},select=sampled", ratio_); }
  [[nodiscard]] std::size_t most(std::size_t count) const override { return exact_.most(count); }
  [[nodiscard]] std::size_t room(std::size_t count) const override { return exact_.room(count); }
  [[nodiscard]] double share(std::size_t count) const override { return 0.8 * exact_.share(count); }
  [[nodiscard]] bool stable() const override { return false; }
  std::size_t select(const float* values, std::size_t count, std::uint32_t* indices) const override {
    const std::size_t k = most(count);
    const std::uint32_t threshold = k > 0 ? sampledThreshold(values, count, k) : 0;
    return threshold > 0 ? loops_.collect(values, count, {threshold, count, k}, indices)
                         : exact_.select(values, count, indices);
  }

 private:
  /// A threshold > 0 that at most k elements reach, and at least 4/5 of k: if more did, the last ones would never be
  /// sent. 0: a sample does not tell one, for example because most elements are zero or equal.
  [[nodiscard]] std::uint32_t sampledThreshold(const float* values, std::size_t count, std::size_t k) const {
    // An overflow must be sent even where too many reach the threshold.
    if (loops_.countFrom(values, count, 0x7f800000u) != 0) return 0;
    const SampledSearch search(ratio_, count);
    std::uint32_t threshold = kthLargest(values, count, search.stride, search.wanted).threshold;
    for (int round = 0; round < SampledSearch::kRounds && threshold > 0; ++round) {
      switch (SampledSearch::judge(loops_.countFrom(values, count, threshold), k)) {
        case SampledSearch::Verdict::good:
          return threshold;
        case SampledSearch::Verdict::few:
          threshold = magnitude(std::bit_cast<float>(threshold) * SampledSearch::kLower);
          break;
        case SampledSearch::Verdict::many:
          threshold = magnitude(std::bit_cast<float>(threshold) * SampledSearch::kRaise);
          break;
        case SampledSearch::Verdict::somewhatMany:
          return 0;
      }
    }
    return 0;
  }

  const double ratio_;
  const SparseLoops& loops_;
  const ExactTopK exact_;
};

class Threshold final : public Selector {
 public:
  Threshold(float value, const SparseLoops& loops) : value_(value), loops_(loops) {}
  [[nodiscard]] std::string spec() const override { return fmt::format("threshold:value={}", value_); }
  [[nodiscard]] std::size_t most(std::size_t count) const override { return count; }
  [[nodiscard]] double share(std::size_t) const override { return 1; }
  [[nodiscard]] double passedOver() const override { return static_cast<double>(value_); }
  [[nodiscard]] bool stable() const override { return true; }
  std::size_t select(const float* values, std::size_t count, std::uint32_t* indices) const override {
    return loops_.collect(values, count, {magnitude(value_), count, count}, indices);
  }

 private:
  const float value_;
  const SparseLoops& loops_;
};

} // namespace

std::unique_ptr<const Selector> makeExactTopK(double ratio, const SparseLoops& loops) {
  return std::make_unique<ExactTopK>(ratio, loops);
}
std::unique_ptr<const Selector> makeSampledTopK(double ratio, const SparseLoops& loops) {
  return std::make_unique<SampledTopK>(ratio, loops);
}
std::unique_ptr<const Selector> makeThreshold(float value, const SparseLoops& loops) {
  return std::make_unique<Threshold>(value, loops);
}

} // namespace goss::compressors
