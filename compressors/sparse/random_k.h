/// Random blocks, chosen by the shared stream: all ranks send the same elements, so no indices are sent and payloads of
/// an additive inner codec are added (Stich et al. 2018, "Sparsified SGD with memory", arXiv 1809.07599; blocks: Vogels
/// et al. 2019).
#ifndef GOSS_COMPRESSORS_SPARSE_RANDOM_K_H_
#define GOSS_COMPRESSORS_SPARSE_RANDOM_K_H_

#include "compressors/sparse/chained_codec.h"

namespace goss::compressors {

/// The blocks of a segment are cut into ceil(ratio * blocks) nearly equal runs, and one block of each run is sent:
/// without replacement, ascending, and every block has about the same chance. Values are sent as they are, for error
/// feedback to keep the rest. The last block of a segment is filled up with zeros.
class RandomKCodec final : public ChainedCodec {
 public:
  /// `loops` must outlive the codec.
  RandomKCodec(double ratio, std::size_t block, std::shared_ptr<const Codec> inner, const CommonLoops& loops)
      : ChainedCodec(std::move(inner), loops), ratio_(ratio), block_(block) {}

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override { return inner().maxBytes(most(count)); }
  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override;
  void decodeVector(PayloadView payload, const VectorOut& out) const override;
  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override;
  Status addPayload(PayloadView payload, std::size_t count, std::span<std::byte> into) const override;
  [[nodiscard]] std::uint32_t sumBits(std::uint32_t ranks) const override { return inner().sumBits(ranks); }
  Result<std::size_t> selected(PayloadView payload, std::size_t count, const SharedStream& shared,
                               std::uint64_t first_element, std::span<std::uint32_t> out) const override;

 protected:
  [[nodiscard]] std::size_t most(std::size_t count) const override;
  void countPresent(PayloadView payload, const VectorOut& out, std::uint32_t* senders) const override;

 private:
  struct Runs {
    std::size_t block;  ///< Elements: block_, or all of a shorter segment.
    std::size_t blocks; ///< In the segment.
    std::size_t chosen;
  };
  [[nodiscard]] Runs runsOf(std::size_t count) const;
  /// Calls use(position in the values, first element, elements) for each chosen block.
  template <typename Function>
  void forChosen(std::size_t count, const SharedStream& shared, std::uint64_t first_element, Function use) const;

  const double ratio_;
  const std::size_t block_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_RANDOM_K_H_
