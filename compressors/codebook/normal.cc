/// NormalFloat with 4 bits (Dettmers et al. 2023, "QLoRA", arXiv 2305.14314): the peak of each block, and for each
/// element the nearest of sixteen values, dense near zero.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compressors/codebook/format.h"
#include "compressors/common/tile_codec.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

/// Blocks whose peak is below 2^-100 become zero.
class NormalCodec final : public TileCodec {
 public:
  /// `block` is a power of two from 32 to 512. Both tables must outlive the codec.
  NormalCodec(std::size_t block, const CommonLoops& common, const CodebookLoops& loops)
      : TileCodec(common), block_(block), loops_(loops) {}

  [[nodiscard]] std::string spec() const override { return fmt::format("nf4:block={}", block_); }
  [[nodiscard]] CodecTraits traits() const override {
    CodecTraits traits;
    traits.fixed_size = true;
    traits.idempotent = true; // the peak is a value of the map
    traits.block = static_cast<std::uint32_t>(block_);
    return traits;
  }
  /// The worst x has its peak, and all other elements in the middle of two values of the map.
  [[nodiscard]] LossBound lossBound(std::size_t, bool) const override {
    constexpr NormalMap kMap;
    constexpr double kRounded = 1 + 1e-5; // of the peak's inverse, and of products
    const auto others = static_cast<double>(block_ - 1);
    LossBound bound{0, 0, 0x1p-100};
    for (std::size_t i = 0; i < std::size(kMap.middle); ++i) {
      const double middle = static_cast<double>(kMap.middle[i]), lost = static_cast<double>(kMap.value[i + 1]) - middle;
      bound.euclidean = std::max(bound.euclidean, others * lost * lost / (1 + others * middle * middle) * kRounded);
      bound.maximum = std::max(bound.maximum, lost * kRounded);
    }
    return bound;
  }

 protected:
  [[nodiscard]] std::size_t payloadBytes(std::size_t count) const override {
    return normalCodeBytes(count) + (count + block_ - 1) / block_ * sizeof(float);
  }
  void encodeTile(const float* values, const EncodeRun& run) const override {
    loops_.encodeNormal(block_, values, run);
  }
  void decodeTile(float* out, const DecodeRun& run) const override { loops_.decodeNormal(block_, out, run); }

 private:
  const std::size_t block_;
  const CodebookLoops& loops_;
};

ValueCodec read(StageReader& reader) {
  const std::size_t block = reader.block("block", 64, {32, 512});
  return {[block](const Loops& loops) { return std::make_shared<NormalCodec>(block, loops.common, loops.codebook); },
          NormalSettings{block}};
}

} // namespace

std::span<const ValueStage> normalStages() {
  static const std::array kStages = {
      ValueStage{
          "nf4",
          {"1/2 + 4/block", "NormalFloat: the nearest of 16 quantiles of a normal distribution, times the block's peak",
           "QLoRA, Dettmers 2023",
           "a 4-bit plane for each tile: indices into the ascending map; a float32 peak for each block"},
          {"nf4:block=64"},
          read},
  };
  return kStages;
}

} // namespace goss::compressors
