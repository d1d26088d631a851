/// A rotation before another codec: chunks of the vector are multiplied by random signs and a Hadamard matrix, which
/// spreads outliers over the chunk, so that blocks of few bits lose less (Suresh et al. 2017, "Distributed mean
/// estimation with limited communication", ICML; Vargaftik et al. 2021, "DRIVE", NeurIPS).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "compressors/common/vector_codec.h"
#include "compressors/hadamard/format.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

/// The signs are the same in all encodes, so payloads of a linear inner codec are linear. What is left behind the last
/// whole chunk is rotated in pieces of ever smaller powers of two.
class HadamardCodec final : public VectorCodec {
 public:
  /// `chunk` is a power of two from 16 to kMaxHadamardElems. Loops must outlive the codec.
  HadamardCodec(std::size_t chunk, CodecPointer inner, const CommonLoops& loops, const HadamardLoops& rotation)
      : VectorCodec(loops), chunk_(chunk), inner_(std::move(inner)), rotation_(rotation) {}

  [[nodiscard]] std::string spec() const override {
    return fmt::format("hadamard:chunk={}+{}", chunk_, inner_->spec());
  }
  [[nodiscard]] CodecTraits traits() const override {
    CodecTraits traits = inner_->traits();
    traits.idempotent = traits.lossless = false; // sums round
    traits.sparse = false;                       // each element depends on the whole chunk
    traits.block = traits.block == 0 ? 0 : std::max(traits.block, static_cast<std::uint32_t>(chunk_));
    return traits;
  }
  /// A rotation keeps norms. A magnitude is at most its chunk's norm, which is at most sqrt(chunk) magnitudes.
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override {
    LossBound loss = inner_->lossBound(count, feedback);
    const auto chunk = static_cast<double>(chunk_);
    loss.euclidean = loss.euclidean * (1 + kRounding) + kRounding;
    loss.maximum = (loss.maximum + kRounding) * chunk;
    loss.floor *= std::sqrt(chunk);
    return loss;
  }
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override { return inner_->maxBytes(count); }
  [[nodiscard]] std::size_t lengthOf(PayloadView bytes, std::size_t count) const override {
    return inner_->lengthOf(bytes, count);
  }

  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override {
    const Workspace work = workspace(in.scratch, in.count);
    eachPiece(in.count, [&](std::size_t first, std::size_t piece) {
      rotation_.rotate(work.values.data() + first, in.values + first, piece);
    });
    EncodeSegment segment{0, in.count, {reinterpret_cast<std::byte*>(to), maxBytes(in.count)}, 0};
    EncodeJob job;
    job.values = work.values;
    job.feedback = in.feedback;
    job.random = in.random;
    job.first_element = in.first_element;
    job.scratch = work.rest;
    job.segments = {&segment, 1};
    // This class computed sizes and scratch: the call cannot fail.
    return inner_->encode(job).isOk() ? segment.bytes : 0;
  }
  void decodeVector(PayloadView payload, const VectorOut& out) const override {
    const Workspace work = workspace(out.scratch, out.count);
    DecodeJob job;
    job.payloads = {&payload, 1};
    job.out = work.values;
    job.shared = out.shared;
    job.first_element = out.first_element;
    job.scratch = work.rest;
    if (!inner_->decode(job).isOk()) { // cannot happen: flawOf() has asked the inner codec
      std::fill(job.out.begin(), job.out.end(), 0.0f);
    }
    eachPiece(out.count, [&](std::size_t first, std::size_t piece) {
      float rotated[kMaxHadamardElems];
      rotation_.rotateBack(rotated, work.values.data() + first, piece);
      loops().deliver(out.out + first, rotated, piece, out.delivery);
    });
  }
  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override {
    return inner_->check(payload, count).text();
  }
  [[nodiscard]] std::size_t innerScratchBytes(std::size_t count) const override {
    return scratchAligned(count * sizeof(float)) + inner_->scratchBytes(count);
  }
  Status addPayload(PayloadView payload, std::size_t count, std::span<std::byte> into) const override {
    return traits().additive ? inner_->addPayload(payload, count, into) : unsupported("addPayload");
  }
  [[nodiscard]] std::uint32_t sumBits(std::uint32_t ranks) const override { return inner_->sumBits(ranks); }

 private:
  static constexpr double kRounding = 1e-6; ///< Rounding error of the sums, relative to the norm.

  /// The scratch of one call: the rotated vector, and the inner codec's.
  struct Workspace {
    std::span<float> values;
    std::span<std::byte> rest;
  };
  static Workspace workspace(std::span<std::byte> scratch, std::size_t count) {
    return {{reinterpret_cast<float*>(scratch.data()), count}, scratch.subspan(scratchAligned(count * sizeof(float)))};
  }
  template <typename Use>
  void eachPiece(std::size_t count, Use use) const {
    for (std::size_t first = 0, piece = 0; first < count; first += piece) {
      piece = hadamardPiece(count - first, chunk_);
      use(first, piece);
    }
  }

  const std::size_t chunk_;
  const CodecPointer inner_;
  const HadamardLoops& rotation_;
};

Sparsifier read(StageReader& reader) {
  const std::size_t chunk = reader.block("chunk", 256, {16, kMaxHadamardElems});
  return {[chunk](CodecPointer inner, const Loops& loops) {
            return std::make_shared<HadamardCodec>(chunk, std::move(inner), loops.common, loops.hadamard);
          },
          HadamardSettings{chunk}};
}

} // namespace

std::span<const SparsifierStage> hadamardStages() {
  static const std::array kStages = {
      SparsifierStage{"hadamard",
                      {"none: all elements go on",
                       "rotates chunks by random signs and a Hadamard matrix, so that outliers of a block become small",
                       "Suresh 2017, DRIVE",
                       "the next stage's payload of the rotated vector: of chunks, then of ever smaller powers of two. "
                       "Element i of a "
                       "piece is first negated where bit 31 of h is set; g = (i + 1) * 0x9e3779b1, then h = (g ^ g >> "
                       "15) * 0x85ebca77, in 32 bits"},
                      {"hadamard:chunk=256+int4:block=128,mode=symmetric,round=nearest",
                       "hadamard:chunk=64+int2:block=64,mode=symmetric,round=nearest"},
                      read},
  };
  return kStages;
}

} // namespace goss::compressors
