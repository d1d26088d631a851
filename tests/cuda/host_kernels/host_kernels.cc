#include "tests/cuda/host_kernels/host_kernels.h"

#include <cstdio>
#include <vector>

#include "compressors/cuda/codecs/device_catalogue.h"
#include "compressors/cuda/device/arithmetic.h"
#include "kernels/convert.h"

namespace goss::test {

namespace {

/// Replaces addresses of a job; remembers whether one could not be reached.
class Mover {
 public:
  explicit Mover(const Reach& reach) : reach_(reach) {}

  template <typename T>
  void operator()(T*& place, std::size_t count) {
    if (place == nullptr || count == 0) return;
    place = static_cast<T*>(reach_(place, count * sizeof(T)));
    ok_ = ok_ && place != nullptr;
  }
  template <typename T>
  void operator()(std::span<T>& places) {
    T* data = places.data();
    (*this)(data, places.size());
    places = {data, places.size()};
  }
  [[nodiscard]] bool isOk() const { return ok_; }

 private:
  const Reach& reach_;
  bool ok_ = true;
};

/// A kernel reports nothing, so a job that is refused here is as a launch that fails.
bool ran(const Status& status) {
  if (!status.isOk()) std::fprintf(stderr, "a kernel of a codec: %s\n", status.text().c_str());
  return status.isOk();
}

bool runOnError(int (*launch)(const ErrorJob& job, compressors::cuda::Stream stream), ErrorJob job,
                const Reach& reach) {
  Mover move(reach);
  move(job.error, job.count);
  move(job.lost, job.count);
  return move.isOk() && launch(job, nullptr) == 0;
}

} // namespace

Result<HostCodec> makeHostCodec(std::string_view spec) {
  auto made = compressors::cuda::makeDeviceCodec(spec);
  if (!made.isOk()) return made.status();
  if (made.value()->host().traits().multi_phase)
    return Status::error(GOSS_ERR_UNSUPPORTED, "the codec works in phases");
  return HostCodec(made.take());
}

HostKernel encodeKernel(HostCodec codec, const EncodeJob& job) {
  for (EncodeSegment& segment : job.segments)
    segment.bytes = codec->host().maxBytes(segment.count);
  const std::vector<EncodeSegment> segments(job.segments.begin(), job.segments.end());
  return [codec = std::move(codec), job, segments](const Reach& reach) {
    Mover move(reach);
    EncodeJob here = job;
    std::vector<EncodeSegment> to = segments;
    move(here.values);
    move(here.reference, here.values.size());
    move(here.residual, here.values.size());
    move(here.scratch);
    for (EncodeSegment& segment : to)
      move(segment.out);
    here.segments = to;
    return move.isOk() && ran(codec->encode(here, nullptr));
  };
}

namespace {

/// A kernel of a codec's function that takes a DecodeJob.
template <typename Run>
HostKernel kernelOf(const DecodeJob& job, Run run) {
  const std::vector<PayloadView> payloads(job.payloads.begin(), job.payloads.end());
  return [job, payloads, run = std::move(run)](const Reach& reach) {
    Mover move(reach);
    DecodeJob here = job;
    std::vector<PayloadView> from = payloads;
    for (PayloadView& payload : from)
      move(payload);
    here.payloads = from;
    move(here.out);
    move(here.scratch);
    return move.isOk() && ran(run(here));
  };
}

} // namespace

HostKernel decodeKernel(HostCodec codec, const DecodeJob& job) {
  return kernelOf(job, [codec = std::move(codec)](const DecodeJob& here) { return codec->decode(here, nullptr); });
}

HostKernel clearHeldKernel(HostCodec codec, const DecodeJob& job) {
  return kernelOf(job, [codec = std::move(codec)](const DecodeJob& here) { return codec->clearHeld(here, nullptr); });
}

HostKernel mergeKernel(HostCodec codec, MergeJob& job) {
  job.bytes = codec->host().maxBytes(job.values.size());
  const std::vector<PayloadView> payloads(job.payloads.begin(), job.payloads.end());
  return [codec = std::move(codec), job, payloads](const Reach& reach) {
    Mover move(reach);
    MergeJob here = job;
    std::vector<PayloadView> from = payloads;
    for (PayloadView& payload : from)
      move(payload);
    here.payloads = from;
    move(here.values);
    move(here.residual, here.values.size());
    move(here.scratch);
    move(here.out);
    return move.isOk() && ran(codec->merge(here, nullptr));
  };
}

HostKernel reduceKernel(const ReduceJob& job) {
  return [job](const Reach& reach) {
    ReduceJob here = job;
    const std::size_t bytes = job.count * kernels::elementBytes(job.dtype);
    here.to = reach(job.to, bytes);
    here.a = reach(job.a, bytes);
    here.b = reach(job.b, bytes);
    return here.to != nullptr && here.a != nullptr && here.b != nullptr &&
           compressors::cuda::launchReduce(here, nullptr) == 0;
  };
}

HostKernel averageKernel(const AverageJob& job) {
  return [job](const Reach& reach) {
    AverageJob here = job;
    const std::size_t bytes = job.count * kernels::elementBytes(job.dtype);
    here.to = reach(job.to, bytes);
    here.from = reach(job.from, bytes);
    return here.to != nullptr && here.from != nullptr && compressors::cuda::launchAverage(here, nullptr) == 0;
  };
}

HostKernel openErrorKernel(const ErrorJob& job) {
  return [job](const Reach& reach) { return runOnError(compressors::cuda::launchOpenError, job, reach); };
}

HostKernel keepErrorKernel(const ErrorJob& job) {
  return [job](const Reach& reach) { return runOnError(compressors::cuda::launchKeepError, job, reach); };
}

HostKernel addMomentumKernel(const MomentumJob& job) {
  return [job](const Reach& reach) {
    MomentumJob here = job;
    Mover move(reach);
    move(here.momentum, here.count);
    move(here.values, here.count);
    return move.isOk() && compressors::cuda::launchAddMomentum(here, nullptr) == 0;
  };
}

} // namespace goss::test
