/// Device codecs whose cells are encoded and decoded independently of each other: all blockwise and element-wise ones.
#ifndef GOSS_COMPRESSORS_CUDA_CELL_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_CELL_CODEC_H_

#include "compressors/cuda/device_codec.h"
#include "compressors/cuda/launches.h"

namespace goss::compressors::cuda {

class CellCodec final : public DeviceCodec {
 public:
  CellCodec(std::shared_ptr<const Codec> host, const CellFormat& format, const CellLaunches& launches);

  [[nodiscard]] const Codec& host() const override { return *host_; }
  [[nodiscard]] std::size_t scratchBytes(std::size_t) const override { return 0; }
  Status encode(const EncodeJob& job, Stream stream) const override;
  Status decode(const DecodeJob& job, Stream stream) const override;
  Status merge(MergeJob& job, Stream stream) const override;

 private:
  [[nodiscard]] Status decodeSome(const DecodeJob& job, DecodeMode mode, std::size_t first, Stream stream) const;

  const std::shared_ptr<const Codec> host_;
  CellFormat format_;
  const CellLaunches launches_;
};

/// GOSS_ERR_INTERNAL unless `code`, what a launch returned, is 0.
Status launched(const Codec& codec, int code);
/// GOSS_ERR_INVALID_ARGUMENT for segments outside of the vector, too little room for payloads, or too little scratch.
Status checkSegments(const Codec& codec, const EncodeJob& job, std::size_t scratch_bytes);
/// Elements of the longest segment.
std::size_t longestOf(const EncodeJob& job);
/// Lengths of payloads, which is all that the host can check.
Status checkLengths(const Codec& codec, std::span<const PayloadView> payloads, std::size_t count);
/// How decodes of more payloads than one launch takes go on: set becomes add.
constexpr DecodeMode laterMode(DecodeMode mode) { return mode == DecodeMode::axpy ? mode : DecodeMode::add; }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_CELL_CODEC_H_
