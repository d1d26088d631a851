#include "compressors/sign/sign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compressors/common/element.h"
#include "compressors/common/jobs.h"

namespace goss::compressors {

namespace {

constexpr std::size_t signBytes(std::size_t count) { return (count + 7) / 8; }

} // namespace

CodecTraits SignCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  traits.idempotent = true;
  traits.block = 0;
  return traits;
}

std::size_t SignCodec::maxBytes(std::size_t count) const { return signBytes(count) + sizeof(float); }

std::size_t SignCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  for (std::size_t i = 0; i < in.count; i += kTileElems) {
    loops_.pack(to + i / 8, in.values + i, std::min(kTileElems, in.count - i));
  }
  const auto count = static_cast<double>(std::max<std::size_t>(in.count, 1));
  const double sum =
      sumOver(norm_ == Norm::l1 ? loops().sumMagnitudes : loops().sumSquares, in.values, in.count) / count;
  const auto scale = static_cast<float>(norm_ == Norm::l1 ? sum : std::sqrt(sum));
  const float kept = std::isfinite(scale) ? roundTo16Bits(scale) : bitCast<float>(kFloatNan);
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

} // namespace goss::compressors
