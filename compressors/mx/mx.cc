#include "compressors/mx/mx.h"

#include <array>

#include "compressors/stage.h"

namespace goss::compressors {

std::string MxCodec::spec() const {
  constexpr std::array<const char*, kMxElements> kNames = {
      "mxfp8", "mxfp4", "e3m0", "mxfp6:element=e2m3", "mxfp6:element=e3m2", "mxint8"};
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
/// peaks of 8 to 6, e2m3 to 7.5, e3m2 those of 32 to 28, int8 those of 2 to 127/64. The worst block has a peak and 31
/// elements of half a step.
LossBound MxCodec::lossBound(std::size_t, bool) const {
  constexpr double kTiny = 0x1p-100;
  switch (element_) {
    case MxElement::e4m3:
      return {0x1p-8 * 1.001, 0x1p-4, kTiny};
    case MxElement::e2m1:
      return {0.12, 0.25, kTiny};
    case MxElement::e2m3:
      return {0x1p-8 + 31 * 0x1p-12, 0x1p-4, kTiny};
    case MxElement::e3m2:
      return {0x1p-6 + 31 * 0x1p-18, 0x1p-3, kTiny};
    case MxElement::int8:
      return {32 * 0x1p-14, 0x1p-7, kTiny};
    default:
      return {0.12, 1.0 / 3, kTiny};
  }
}

namespace {

template <MxElement kElement>
ValueCodec read(StageReader&) {
  return {[](const Loops& loops) { return std::make_shared<MxCodec>(kElement, loops.common, loops.mx); },
          MxSettings{kElement}};
}

ValueCodec readSix(StageReader& reader) {
  return reader.choice("element", {"e2m3", "e3m2"}) == 0 ? read<MxElement::e2m3>(reader)
                                                         : read<MxElement::e3m2>(reader);
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
      ValueStage{
          "mxfp6",
          {"0.781",
           "e2m3 or e3m2 elements, 32 share a power of two: that of the standard, which cuts the largest peaks "
           "by a sixteenth or an eighth",
           "OCP MX 1.0",
           "for each tile a plane of the lower 4 bits, then for each tile one of the upper 2: sign, then e2m3 or "
           "e3m2 (bias 1 and 3); the exponent bytes"},
          {"mxfp6:element=e2m3", "mxfp6:element=e3m2"},
          readSix},
      ValueStage{"mxint8",
                 {"1.031", "sixty-fourths from -127 to 127, 32 share a power of two", "OCP MX 1.0",
                  "n bytes, two's complement; the exponent bytes"},
                 {"mxint8"},
                 read<MxElement::int8>},
      ValueStage{"e3m0",
                 {"0.531", "powers of two in 4 bits, 32 share one more", "Streaming DiLoCo", kNibbles},
                 {"e3m0"},
                 read<MxElement::e3m0>},
  };
  return kStages;
}

} // namespace goss::compressors
