#include "compressors/cast/cast.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "compressors/common/jobs.h"
#include "compressors/stage.h"
#include "kernels/convert.h"
#include "kernels/elements.h"
#include "kernels/kernels.h"

namespace goss::compressors {

namespace {

/// Kernels want aligned elements; payloads may lie anywhere.
bool aligned(const void* at, std::size_t width) { return reinterpret_cast<std::uintptr_t>(at) % width == 0; }

} // namespace

CastCodec::CastCodec(DType dtype, const CommonLoops& loops)
    : TileCodec(loops), dtype_(dtype), width_(kernels::elementBytes(dtype)), loops_(loops) {}

std::string CastCodec::spec() const {
  switch (dtype_) {
    case GOSS_FLOAT16:
      return "fp16";
    case GOSS_BFLOAT16:
      return "bf16";
    case GOSS_FLOAT8_E4M3:
      return "e4m3";
    case GOSS_FLOAT8_E5M2:
      return "e5m2";
    default:
      return "none";
  }
}

CodecTraits CastCodec::traits() const {
  CodecTraits traits;
  traits.additive = true;
  traits.fixed_size = true;
  traits.idempotent = true;
  traits.lossless = dtype_ == GOSS_FLOAT32;
  return traits;
}

/// Casting loses half a unit in the last place of the value, or of the smallest subnormal.
LossBound CastCodec::lossBound(std::size_t, bool) const {
  switch (dtype_) {
    case GOSS_FLOAT16:
      return {0x1p-22, 0x1p-11, 0x1p-25};
    case GOSS_BFLOAT16:
      return {0x1p-16, 0x1p-8, 0x1p-134};
    case GOSS_FLOAT8_E4M3:
      return {0x1p-8, 0x1p-4, 0x1p-10};
    case GOSS_FLOAT8_E5M2:
      return {0x1p-6, 0x1p-3, 0x1p-17};
    default:
      return {0, 0, 0};
  }
}

void CastCodec::encodeTile(const float* values, const EncodeRun& run) const {
  alignas(64) unsigned char tile[kTileElems * sizeof(float)];
  unsigned char* to = run.payload + run.first * width_;
  unsigned char* narrow = aligned(to, width_) ? to : tile;
  kernels::convert(dtype_, narrow, GOSS_FLOAT32, values, run.count);
  if (dtype_ == GOSS_FLOAT32 && run.sums) {
    auto* sums = reinterpret_cast<float*>(narrow);
    std::transform(sums, sums + run.count, sums, [](float value) { return kernels::canonical(value); });
  }
  if (dtype_ == GOSS_FLOAT8_E4M3) {
    loops_.markInfinities(narrow, values, run.count);
  }
  if (narrow != to) {
    std::memcpy(to, tile, run.count * width_);
  }
}

void CastCodec::decodeTile(float* out, const DecodeRun& run) const {
  alignas(64) unsigned char tile[kTileElems * sizeof(float)];
  const unsigned char* from = run.payload + run.first * width_;
  if (!aligned(from, width_)) {
    std::memcpy(tile, from, run.count * width_);
    from = tile;
  }
  kernels::convert(GOSS_FLOAT32, out, dtype_, from, run.count);
}

Status CastCodec::addPayload(PayloadView payload, std::size_t count, std::span<std::byte> into) const {
  if (Status status = check(payload, count); !status.isOk()) {
    return status;
  }
  if (Status status = check(into, count); !status.isOk()) {
    return status;
  }
  alignas(64) unsigned char left[kTileElems * sizeof(float)];
  alignas(64) unsigned char right[kTileElems * sizeof(float)];
  for (std::size_t first = 0; first < count; first += kTileElems) {
    const std::size_t some = std::min(kTileElems, count - first);
    unsigned char* to = bytesOf(into) + first * width_;
    std::memcpy(left, to, some * width_);
    std::memcpy(right, bytesOf(payload) + first * width_, some * width_);
    kernels::reduce(dtype_, GOSS_SUM, left, left, right, some);
    std::memcpy(to, left, some * width_);
  }
  return Status::ok();
}

namespace {

template <DType kDType>
ValueCodec read(StageReader&) {
  return {[](const Loops& loops) { return std::make_shared<CastCodec>(kDType, loops.common); }, CastSettings{kDType}};
}

} // namespace

std::span<const ValueStage> castStages() {
  constexpr std::string_view kFormat = "n numbers of the type";
  constexpr StageText kHalf = {"2", "cast, nearest even; additive", "Micikevicius 2018", kFormat};
  constexpr StageText kQuarter = {"1", "cast to float8; e4m3 saturates at 448; additive", "Micikevicius 2022", kFormat};
  static const std::array kStages = {
      ValueStage{"none", {"4", "float32 as it is", "", kFormat}, {"none"}, read<GOSS_FLOAT32>},
      ValueStage{"fp16", kHalf, {"fp16"}, read<GOSS_FLOAT16>},
      ValueStage{"bf16", kHalf, {"bf16"}, read<GOSS_BFLOAT16>},
      ValueStage{"e4m3", kQuarter, {"e4m3"}, read<GOSS_FLOAT8_E4M3>},
      ValueStage{"e5m2", kQuarter, {"e5m2"}, read<GOSS_FLOAT8_E5M2>},
  };
  return kStages;
}

} // namespace goss::compressors
