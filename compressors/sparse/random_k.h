/// Random blocks, chosen by the shared stream: all ranks send the same elements, so no indices are sent and payloads of
/// an additive inner codec are added (Stich et al. 2018, "Sparsified SGD with memory", arXiv 1809.07599; blocks: Vogels
/// et al. 2019).
#ifndef GOSS_COMPRESSORS_SPARSE_RANDOM_K_H_
#define GOSS_COMPRESSORS_SPARSE_RANDOM_K_H_

#include "compressors/sparse/chained_codec.h"
#include "compressors/sparse/format.h"

namespace goss::compressors {

/// The blocks of a segment are cut into ceil(ratio * blocks) nearly equal runs, and one block of each run is sent:
/// without replacement, ascending, and every block has about the same chance. Values are sent as they are, for error
/// feedback to keep the rest. The last block of a segment is filled up with zeros.
class RandomKCodec final : public ChainedCodec {
 public:
  /// Loops must outlive the codec.
  RandomKCodec(double ratio, std::size_t block, std::shared_ptr<const Codec> inner, const CommonLoops& loops,
               const SparseLoops& sparse_loops)
      : ChainedCodec(std::move(inner), loops), ratio_(ratio), block_(block), sparse_loops_(sparse_loops) {}

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override { return inner().maxBytes(most(count)); }
  [[nodiscard]] std::size_t lengthOf(PayloadView bytes, std::size_t count) const override {
    return inner().lengthOf(bytes, most(count));
  }
  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override;
  void decodeVector(PayloadView payload, const VectorOut& out) const override { decodeVectors({&payload, 1}, out); }
  /// All payloads hold the same blocks: in mode set they are added up before they are written to the vector.
  void decodeVectors(std::span<const PayloadView> payloads, const VectorOut& out) const override;
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
    std::size_t block;  ///< Elements of a block: block_, or all of a shorter segment.
    std::size_t blocks; ///< Number of blocks in the segment.
    std::size_t chosen;
  };
  [[nodiscard]] Runs runsOf(std::size_t count) const;
  /// Some of the chosen blocks, in the order of the runs.
  struct Chosen {
    Blocks blocks;     ///< Whole blocks.
    std::size_t at;    ///< Position of their first value among all that are sent.
    std::size_t begin; ///< First element of their runs.
    std::size_t end;
    std::size_t rest; ///< Elements of a short block at the end of the vector, behind `blocks`; 0: none.
  };
  /// Calls use(chosen) until all chosen blocks were passed.
  template <typename Function>
  void forChosen(std::size_t count, const SharedStream& shared, std::uint64_t first_element, Function use) const;
  /// Calls use(element) for all elements of chosen blocks.
  template <typename Function>
  void forEach(std::size_t count, const SharedStream& shared, std::uint64_t first_element, Function use) const;
  void decodeSum(std::span<const PayloadView> payloads, const VectorOut& out) const;

  const double ratio_;
  const std::size_t block_;
  const SparseLoops& sparse_loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_RANDOM_K_H_
