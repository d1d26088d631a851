#include "compressors/sign/sign.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "compressors/common/element.h"
#include "compressors/common/jobs.h"
#include "compressors/sign/element.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

constexpr std::size_t signBytes(std::size_t count) { return (count + 7) / 8; }
double atLeastOne(std::size_t count) { return static_cast<double>(std::max<std::size_t>(count, 1)); }

} // namespace

CodecTraits SignCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  traits.idempotent = true;
  traits.block = 0;
  return traits;
}

/// The worst x has one element that is not zero. With feedback l2's scale is at most 1.5 means (keptRoot()).
LossBound SignCodec::lossBound(std::size_t count, bool feedback) const {
  const double n = atLeastOne(count);
  const bool root = norm_ == Norm::l2 && !feedback;
  const double kept = norm_ == Norm::l1 ? 0.999 / n : 0.749 / n;
  return {root ? 2 - 1.999 / std::sqrt(n) : 1 - kept, 1, norm_ == Norm::l1 ? 0x1p-100 : 0x1p-60};
}

std::size_t SignCodec::maxBytes(std::size_t count) const { return signBytes(count) + sizeof(float); }

double SignCodec::meanMagnitude(const VectorIn& in) const {
  return sumOver(loops().sumMagnitudes, in.values, in.count) / atLeastOne(in.count);
}

double SignCodec::rootMeanSquare(const VectorIn& in) const {
  const double root = std::sqrt(sumOver(loops().sumSquares, in.values, in.count) / atLeastOne(in.count));
  return in.feedback ? keptRoot(root, meanMagnitude(in)) : root;
}

std::size_t SignCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  for (std::size_t i = 0; i < in.count; i += kTileElems) {
    loops_.pack(to + i / 8, in.values + i, std::min(kTileElems, in.count - i));
  }
  const double scale = norm_ == Norm::l1 ? meanMagnitude(in) : rootMeanSquare(in);
  const auto narrow = static_cast<float>(scale);
  const float kept = std::isfinite(narrow) ? roundTo16Bits(narrow) : bitCast<float>(kFloatNan);
  std::memcpy(to + signBytes(in.count), &kept, sizeof kept);
  return maxBytes(in.count);
}

void SignCodec::decodeVector(PayloadView payload, const VectorOut& out) const {
  const unsigned char* from = bytesOf(payload);
  float scale;
  std::memcpy(&scale, from + signBytes(out.count), sizeof scale);
  for (std::size_t i = 0; i < out.count; i += kTileElems) {
    loops_.unpack(out.out + i, from + i / 8, std::min(kTileElems, out.count - i), scale, out.delivery);
  }
}

std::string SignCodec::flawOf(PayloadView payload, std::size_t count) const {
  return payload.size() == maxBytes(count) ? "" : fmt::format("it has {} bytes", maxBytes(count));
}

namespace {

ValueCodec read(StageReader& reader) {
  const bool root_mean_square = reader.choice("norm", {"l1", "l2"}) == 1;
  const auto norm = root_mean_square ? SignCodec::Norm::l2 : SignCodec::Norm::l1;
  return {[norm](const Loops& loops) { return std::make_shared<SignCodec>(norm, loops.common, loops.sign); },
          SignSettings{root_mean_square}};
}

} // namespace

std::span<const ValueStage> signStages() {
  static const std::array kStages = {
      ValueStage{"sign",
                 {"1/8", "sign times mean magnitude or root mean square", "EF-signSGD, 1-bit Adam",
                  "a 1-bit plane for each tile, 1 where negative; float32 scale"},
                 {"sign:norm=l1", "sign:norm=l2"},
                 read},
  };
  return kStages;
}

} // namespace goss::compressors
