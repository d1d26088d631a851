#include "compressors/codebook/uniform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "compressors/codebook/element.h"
#include "compressors/common/jobs.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

constexpr std::size_t kBuckets = kUniformBuckets;
constexpr std::size_t kTableBytes = kBuckets * sizeof(float);

/// Four histograms used in turn, so that additions to the same bucket do not wait for each other.
struct Histogram {
  std::int64_t rest[4][kBuckets] = {};
  std::uint64_t members[4][kBuckets] = {};

  void add(const unsigned char* levels, const std::int32_t* parts, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      rest[i % 4][levels[i]] += parts[i];
      ++members[i % 4][levels[i]];
    }
  }
  [[nodiscard]] float mean(std::size_t bucket, float step) const {
    std::int64_t sum = 0;
    std::uint64_t count = 0;
    for (std::size_t part = 0; part < 4; ++part) {
      sum += rest[part][bucket];
      count += members[part][bucket];
    }
    return uniformMean(bucket, sum, count, step);
  }
};

} // namespace

CodecTraits UniformCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  traits.block = 0;
  return traits;
}

/// A bucket's mean loses no more than its members deviate. The worst x is one large value and, in the same bucket
/// beyond three deviations, so many others that the mean is far from all: what is kept is 3 / sqrt(count) of |x|^2.
LossBound UniformCodec::lossBound(std::size_t count, bool) const {
  const double kept = 2.9 / std::sqrt(static_cast<double>(std::max<std::size_t>(count, 1)));
  return {std::max(0.001, 1 - kept), 1, 0x1p-60};
}

std::size_t UniformCodec::maxBytes(std::size_t count) const { return count + kTableBytes; }

std::size_t UniformCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  float table[kBuckets] = {};
  const double squares = sumOver(loops().sumSquares, in.values, in.count);
  const double freedom = in.count > 1 ? static_cast<double>(in.count) - 1 : 1;
  const auto deviation = static_cast<float>(std::sqrt(squares / freedom));
  if (!std::isfinite(deviation)) {
    std::fill(std::begin(table), std::end(table), bitCast<float>(kFloatNan));
    std::memset(to, 128, in.count);
  } else {
    const Scale scale = uniformScale(deviation);
    Histogram histogram;
    std::int32_t rest[kTileElems];
    for (std::size_t i = 0; i < in.count; i += kTileElems) {
      const std::size_t count = std::min(kTileElems, in.count - i);
      loops_.encodeUniform(to + i, rest, in.values + i, count, scale.inverse);
      histogram.add(to + i, rest, count);
    }
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      table[bucket] = histogram.mean(bucket, scale.step);
    }
  }
  std::memcpy(to + in.count, table, kTableBytes);
  return maxBytes(in.count);
}

void UniformCodec::decodeVector(PayloadView payload, const VectorOut& out) const {
  float table[kBuckets];
  float decoded[kTileElems];
  std::memcpy(table, payload.data() + out.count, kTableBytes);
  for (std::size_t i = 0; i < out.count; i += kTileElems) {
    const std::size_t count = std::min(kTileElems, out.count - i);
    loops_.lookUp(decoded, bytesOf(payload) + i, count, table);
    loops().deliver(out.out + i, decoded, count, out.delivery);
  }
}

std::string UniformCodec::flawOf(PayloadView payload, std::size_t count) const {
  return payload.size() == maxBytes(count) ? "" : fmt::format("it has {} bytes", maxBytes(count));
}

std::span<const ValueStage> uniformStages() {
  static const std::array kStages = {
      ValueStage{
          "uniform8",
          {"1 + 1024/segment", "six deviations around zero, codebook of means (hivemind subtracts the mean first)",
           "INTELLECT-1", "n indices; 256 float32"},
          {"uniform8"},
          [](StageReader&) -> ValueCodec {
            return {[](const Loops& loops) { return std::make_shared<UniformCodec>(loops.common, loops.codebook); },
                    UniformSettings{}};
          }},
  };
  return kStages;
}

} // namespace goss::compressors
