/// Device codecs whose warps encode and decode independently of each other: all blockwise and element-wise ones.
#ifndef GOSS_COMPRESSORS_CUDA_DEVICE_BLOCK_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_DEVICE_BLOCK_CODEC_H_

#include "compressors/cuda/device/device_codec.h"
#include "compressors/cuda/device/launches.h"

namespace goss::compressors::cuda {

class BlockDeviceCodec final : public DeviceCodec {
 public:
  BlockDeviceCodec(std::shared_ptr<const Codec> host, const KernelFormat& format, const CodecLaunches& launches);

  [[nodiscard]] const Codec& host() const override { return *host_; }
  [[nodiscard]] std::size_t scratchBytes(std::size_t) const override { return 0; }
  Status encode(const EncodeJob& job, Stream stream) const override;
  Status decode(const DecodeJob& job, Stream stream) const override;
  Status merge(MergeJob& job, Stream stream) const override;

  // Parts from which other device codecs are made; they return CUDA's error code.

  /// A whole vector, and where its payload goes.
  struct WholeVector {
    std::size_t count = 0;
    std::byte* payload = nullptr;
    const float* scale = nullptr; ///< Scale of the whole segment in device memory, for codecs that have one.
    /// May be null. Else `count` is an upper bound, and the payload follows the indices of a sparse payload.
    const InnerPayload* inner = nullptr;
    bool feedback = false; ///< The encode has error feedback: codecs that do not contract scale down.
  };
  /// Encodes a whole vector; `kernel_job` has the other arguments.
  int encodeWhole(EncodeKernelJob kernel_job, const WholeVector& vector, Stream stream) const;
  /// Decodes to `out` one payload that follows the indices of a sparse payload.
  int decodeInner(const WholeVector& vector, float* out, Stream stream) const;
  int measureInner(const InnerPayload* inner, std::uint64_t more, std::uint64_t* length, Stream stream) const;

 private:
  /// The format of encodes with or without error feedback.
  [[nodiscard]] KernelFormat formatFor(bool feedback) const;
  [[nodiscard]] Status decodeSome(const DecodeJob& job, DecodeMode mode, std::size_t first, Stream stream) const;

  const std::shared_ptr<const Codec> host_;
  KernelFormat format_;
  const CodecLaunches launches_;
};

/// GOSS_ERR_INTERNAL unless `code`, what a launch returned, is 0.
Status launched(const Codec& codec, int code);
/// GOSS_ERR_INVALID_ARGUMENT for segments outside of the vector, too little room for payloads, or too little scratch.
Status checkSegments(const Codec& codec, const EncodeJob& job, std::size_t scratch_bytes);
/// GOSS_ERR_INVALID_ARGUMENT for too little scratch.
Status checkScratch(const Codec& codec, std::size_t bytes, std::size_t needed);
/// Elements of the longest segment.
std::size_t longestOf(const EncodeJob& job);
/// GOSS_ERR_PROTOCOL for payloads whose length is wrong; the host can check nothing else.
Status checkLengths(const Codec& codec, std::span<const PayloadView> payloads, std::size_t count);
/// How decodes of more payloads than one launch takes go on: set becomes add.
constexpr DecodeMode laterMode(DecodeMode mode) { return mode == DecodeMode::axpy ? mode : DecodeMode::add; }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_BLOCK_CODEC_H_
