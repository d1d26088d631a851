/// Compression of the messages between the ranks of a pipeline.
#ifndef GOSS_LIB_PIPELINE_BOUNDARY_CODEC_H_
#define GOSS_LIB_PIPELINE_BOUNDARY_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gossamer/codec.h"
#include "pipeline/sample_cache.h"

namespace goss::pipeline {

struct BoundaryCodecSetup {
  std::shared_ptr<const Codec> forward;  ///< Codec of activations; null: uncompressed.
  std::shared_ptr<const Codec> backward; ///< Codec of gradients; null: uncompressed.
  bool deltas = false;                   ///< AQ-SGD; needs `forward`.
  std::size_t sample_elems = 1;          ///< Floats of one sample at a boundary.
  std::string cache_directory;           ///< Directory for the cache of deltas; empty: in memory.
};

/// Direct quantisation encodes every sample by itself. AQ-SGD (Wang et al. 2022, arXiv 2206.01299, algorithm 1)
/// encodes, in the forward direction, the difference to what the receiver decoded of the same sample the last time:
/// both ends keep that vector, for every sample and boundary, and both add what was sent. The first time a sample is
/// sent uncompressed. So the error vanishes as training converges, unlike that of direct quantisation. One thread.
class BoundaryCodec {
 public:
  /// Errors: GOSS_ERR_INVALID_ARGUMENT for codecs whose payloads are not of fixed size, or that draw random numbers;
  /// GOSS_ERR_RESOURCE naming a cache that cannot be made.
  static Result<std::unique_ptr<BoundaryCodec>> create(BoundaryCodecSetup setup);

  /// Identity of a message: the later stage of the boundary, and the samples of the micro-batch.
  struct Crossing {
    bool is_forward = true;
    int stage = 0;
    std::span<const std::uint64_t> samples;
  };
  [[nodiscard]] std::size_t sampleElems() const { return setup_.sample_elems; }
  [[nodiscard]] bool hasDeltas() const { return setup_.deltas; }
  /// The vectors that this end keeps of every sample.
  [[nodiscard]] SampleCache& samples() { return cache_; }
  /// After a run that failed: with deltas, one end of a boundary may have corrected samples that the other has not.
  void abandon() { is_abandoned_ = setup_.deltas; }
  [[nodiscard]] bool isAbandoned() const { return is_abandoned_; }
  /// Upper bound of a message of so many samples.
  [[nodiscard]] std::size_t maxBytes(bool is_forward, std::size_t samples) const;
  /// Encodes values[samples * sample_elems] into the message; returns its length.
  Result<std::size_t> encode(const Crossing& crossing, const float* values, std::span<std::byte> message);
  /// The inverse of encode(). Errors: GOSS_ERR_PROTOCOL for a message that does not fit this crossing.
  Status decode(const Crossing& crossing, PayloadView message, float* values);

 private:
  explicit BoundaryCodec(BoundaryCodecSetup setup, SampleCache cache);
  [[nodiscard]] const Codec* codecOf(bool is_forward) const {
    return is_forward ? setup_.forward.get() : setup_.backward.get();
  }
  [[nodiscard]] bool usesDeltas(bool is_forward) const { return is_forward && setup_.deltas; }
  Status encodeDelta(const SampleCache::Key& key, std::span<const float> values, std::span<std::byte> message,
                     std::size_t& bytes);
  Status decodeDelta(const SampleCache::Key& key, PayloadView payload, std::span<float> values);
  Status encodeValues(const Codec& codec, std::span<const float> values, const float* reference,
                      std::span<std::byte> message, std::size_t& bytes);
  Status decodeValues(const Codec& codec, PayloadView payload, std::span<float> values, DecodeMode mode);
  [[nodiscard]] std::span<std::byte> scratch(const Codec& codec);

  BoundaryCodecSetup setup_;
  SampleCache cache_;
  std::vector<float> known_;       // the vector of the current sample
  std::vector<std::byte> scratch_; // with space for alignment
  bool is_abandoned_ = false;
};

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_BOUNDARY_CODEC_H_
