/// Sparsifiers that send indices: top-k and threshold.
#ifndef GOSS_COMPRESSORS_SPARSE_SPARSE_H_
#define GOSS_COMPRESSORS_SPARSE_SPARSE_H_

#include "compressors/sparse/chained_codec.h"
#include "compressors/sparse/selector.h"

namespace goss::compressors {

/// Codes segments of at most 2^32 - 1 elements. NaNs count as the largest magnitudes.
class SparseCodec final : public ChainedCodec {
 public:
  /// Loops must outlive the codec.
  SparseCodec(std::unique_ptr<const Selector> selector, bool packs, std::shared_ptr<const Codec> inner,
              const CommonLoops& loops, const SparseLoops& sparse_loops)
      : ChainedCodec(std::move(inner), loops),
        selector_(std::move(selector)),
        packs_(packs),
        sparse_loops_(sparse_loops) {}

  [[nodiscard]] std::string spec() const override {
    return selector_->spec() + (packs_ ? ",indices=packed+" : "+") + inner().spec();
  }
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override;
  [[nodiscard]] std::size_t maxElements() const override { return 0xffffffffu; }
  [[nodiscard]] std::size_t lengthOf(PayloadView bytes, std::size_t count) const override;
  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override;
  void decodeVector(PayloadView payload, const VectorOut& out) const override;
  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override;
  Result<std::size_t> selected(PayloadView payload, std::size_t count, const SharedStream& shared,
                               std::uint64_t first_element, std::span<std::uint32_t> out) const override;

 protected:
  [[nodiscard]] std::size_t most(std::size_t count) const override { return selector_->most(count); }
  [[nodiscard]] std::size_t indexRoom(std::size_t count) const override { return selector_->room(count); }
  void countPresent(PayloadView payload, const VectorOut& out, std::uint32_t* senders) const override;

 private:
  /// Bytes before the next stage's payload.
  [[nodiscard]] std::size_t headBytes(std::size_t count, std::size_t held) const;
  /// Reads the indices of a payload that flawOf() found right.
  void readHeld(PayloadView payload, std::size_t count, std::span<std::uint32_t> indices) const;

  const std::unique_ptr<const Selector> selector_;
  const bool packs_; ///< Indices are PackedIndices.
  const SparseLoops& sparse_loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_SPARSE_H_
