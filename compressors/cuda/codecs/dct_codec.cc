#include "compressors/cuda/codecs/dct_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "compressors/cuda/device/block_codec.h"
#include "compressors/cuda/kernels/dct_jobs.h"
#include "compressors/cuda/kernels/sparse_jobs.h"
#include "compressors/dct/dct.h"

namespace goss::compressors::cuda {

DctDeviceCodec::DctDeviceCodec(const std::shared_ptr<const Codec>& host, std::size_t chunk, std::size_t keep)
    : VectorDeviceCodec(host), chunk_(chunk), keep_(keep), table_(makeDctTable(chunk)) {}

// Scratch holds the basis, and, for means of more payloads than one launch takes, the sums and the number of senders of
// all coefficients.
std::size_t DctDeviceCodec::innerScratchBytes(std::size_t count) const {
  return floatBytes(chunk_ * chunk_) + 2 * floatBytes(padded(count));
}

Status DctDeviceCodec::encodeVector(const Vector& vector, Stream stream) const {
  auto* basis = reinterpret_cast<float*>(innerScratch(vector.scratch, vector.count).data());
  DctEncodeJob job{chunk_, keep_, basis, vector.values, vector.count, nullptr};
  job.payload = reinterpret_cast<unsigned char*>(vector.payload.data());
  Launches launches(host());
  launches([&] { return launchDctBasis({table_, basis, false}, stream); });
  launches([&] { return launchDctEncode(job, stream); });
  const Status status = launches.status();
  return status.isOk() ? leave(vector, stream) : status;
}

Status DctDeviceCodec::decode(const DecodeJob& job, Stream stream) const {
  const std::size_t count = job.out.size();
  if (Status status = checkLengths(host(), job.payloads, count); !status.isOk()) {
    return status;
  }
  if (Status status = checkScratch(host(), job.scratch.size(), scratchBytes(count)); !status.isOk()) {
    return status;
  }
  Launches launches(host());
  const bool mean = job.mode == DecodeMode::meanOfPresent;
  if (job.payloads.empty() && (mean || job.mode == DecodeMode::set)) {
    launches([&] { return launchClear({job.out.data(), nullptr, count}, stream); });
    return launches.status();
  }
  const std::span<std::byte> scratch = innerScratch(job.scratch, count);
  auto* basis = reinterpret_cast<float*>(scratch.data());
  launches([&] { return launchDctBasis({table_, basis, true}, stream); });
  DctDecodeJob decodes;
  decodes.chunk = chunk_;
  decodes.keep = keep_;
  decodes.basis = basis;
  decodes.out = job.out.data();
  decodes.count = count;
  decodes.delivery = {job.mode, job.weight};
  decodes.mean = mean;
  decodes.sums = reinterpret_cast<float*>(scratch.data() + floatBytes(chunk_ * chunk_));
  decodes.senders =
      reinterpret_cast<std::uint32_t*>(scratch.data() + floatBytes(chunk_ * chunk_) + floatBytes(padded(count)));
  for (std::size_t done = 0; done < job.payloads.size(); done += kMaxPayloads) {
    const auto some = job.payloads.subspan(done, std::min<std::size_t>(kMaxPayloads, job.payloads.size() - done));
    decodes.payload_count = 0;
    for (const PayloadView payload : some) {
      decodes.payloads[decodes.payload_count++] = reinterpret_cast<const unsigned char*>(payload.data());
    }
    decodes.first = done == 0;
    decodes.last = done + some.size() == job.payloads.size();
    launches([&] { return launchDctDecode(decodes, stream); });
    decodes.delivery.mode = laterMode(job.mode);
  }
  return launches.status();
}

} // namespace goss::compressors::cuda
