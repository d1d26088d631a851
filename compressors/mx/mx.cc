#include "compressors/mx/mx.h"

#include <array>

#include "compressors/stage.h"

namespace goss::compressors {

std::string MxCodec::spec() const {
  constexpr std::array<const char*, kMxElements> kNames = {"mxfp8", "mxfp4", "e3m0"};
  return kNames[static_cast<std::size_t>(element_)];
}

CodecTraits MxCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  // The peak may round down to a value for which a smaller power of two would do; but the decoded values lie on that
  // finer grid too.
  traits.idempotent = true;
  traits.block = kMxBlock;
  return traits;
}

/// A value loses at most half of the widest gap around it, relative to itself or to its block's peak. e2m1 reduces
/// peaks of 8 to 6.
LossBound MxCodec::lossBound(std::size_t, bool) const {
  constexpr double kTiny = 0x1p-100;
  switch (element_) {
    case MxElement::e4m3:
      return {0x1p-8 * 1.001, 0x1p-4, kTiny};
    case MxElement::e2m1:
      return {0.12, 0.25, kTiny};
    default:
      return {0.12, 1.0 / 3, kTiny};
  }
}

namespace {

template <MxElement kElement>
ValueCodec read(StageReader&) {
  return {[](const Loops& loops) { return std::make_shared<MxCodec>(kElement, loops.common, loops.mx); },
          MxForm{kElement}};
}

} // namespace

std::span<const ValueStage> mxStages() {
  constexpr std::string_view kNibbles =
      "a 4-bit plane for each tile: sign, then e2m1 or e3m0 (bias 1 and 3); the exponent bytes";
  static const std::array kStages = {
      ValueStage{"mxfp8",
                 {"1.031", "e4m3 elements, 32 share a power of two that covers the peak", "OCP MX 1.0",
                  "n codes e4m3; for each 32 elements a byte: exponent of a power of two, biased by 127; 255 is NaN"},
                 {"mxfp8"},
                 read<MxElement::e4m3>},
      ValueStage{"mxfp4",
                 {"0.531",
                  "e2m1 elements, 32 share a power of two: that which covers the peak, or the standard's, with peaks "
                  "between 6 and 8 cut to 6",
                  "OCP MX 1.0", kNibbles},
                 {"mxfp4"},
                 read<MxElement::e2m1>},
      ValueStage{"e3m0",
                 {"0.531", "powers of two in 4 bits, 32 share one more", "Streaming DiLoCo", kNibbles},
                 {"e3m0"},
                 read<MxElement::e3m0>},
  };
  return kStages;
}

} // namespace goss::compressors
