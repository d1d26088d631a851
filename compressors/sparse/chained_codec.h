/// What sparsifiers share: they pick some values and hand them, as a shorter vector, to the next codec. So CocktailSGD
/// is random blocks, then top-k, then int4 (Wang et al. 2023, "CocktailSGD", ICML).
#ifndef GOSS_COMPRESSORS_SPARSE_CHAINED_CODEC_H_
#define GOSS_COMPRESSORS_SPARSE_CHAINED_CODEC_H_

#include <memory>

#include "compressors/common/vector_codec.h"

namespace goss::compressors {

class ChainedCodec : public VectorCodec {
 public:
  [[nodiscard]] std::size_t innerScratchBytes(std::size_t count) const final;

 protected:
  ChainedCodec(std::shared_ptr<const Codec> inner, const CommonLoops& loops)
      : VectorCodec(loops), inner_(std::move(inner)) {}

  /// Upper bound of the values that the inner codec gets of `count`.
  [[nodiscard]] virtual std::size_t most(std::size_t count) const = 0;
  /// Indices that the workspace of `count` values has space for; at least most(count).
  [[nodiscard]] virtual std::size_t indexRoom(std::size_t count) const { return most(count); }
  [[nodiscard]] const Codec& inner() const { return *inner_; }

  /// The loss of a codec that picks at least `share` of |x|^2 from `count` elements, in the mean, and codes them by the
  /// inner codec.
  [[nodiscard]] LossBound lossOfPicked(double share, std::size_t count, bool feedback) const;

  /// The scratch of one call: indices, values and the inner codec's scratch.
  struct Workspace {
    std::span<std::uint32_t> indices;
    std::span<float> values;
    std::span<std::byte> rest;
  };
  [[nodiscard]] Workspace workspace(std::span<std::byte> scratch, std::size_t count) const;

  std::size_t encodeInner(const VectorIn& in, const Workspace& work, std::size_t held, unsigned char* to) const;
  /// work.values[0 .. held) = the sum of what the payloads decode to; there is at least one payload.
  void decodeInner(std::span<const PayloadView> payloads, const VectorOut& out, const Workspace& work,
                   std::size_t held) const;
  /// Delivers work.values[i] to element work.indices[i]; set clears the others.
  static void scatter(const VectorOut& out, const Workspace& work, std::size_t held);

 private:
  const std::shared_ptr<const Codec> inner_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_CHAINED_CODEC_H_
