#include "bench/limits/device_codec_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "compressors/cuda/codecs/device_catalogue.h"
#include "compressors/cuda/device/memory.h"

namespace goss::bench {

namespace {

using compressors::cuda::DeviceBuffer;
using compressors::cuda::DeviceCodec;

void require(const Status& status) {
  if (!status.isOk()) {
    throw std::runtime_error(status.text());
  }
}
template <typename T>
T require(Result<T> result) {
  require(result.status());
  return result.take();
}

constexpr int kCalls = 10; ///< Calls in a sample, because a launch is short.

/// Median over samples of the seconds of one call; the first calls are not timed.
double secondsOf(int samples, const std::function<Status()>& call) {
  const auto several = [&call] {
    Status status = Status::ok();
    for (int i = 0; i < kCalls && status.isOk(); ++i) {
      status = call();
    }
    return status;
  };
  require(compressors::cuda::deviceSeconds(several));
  std::vector<double> seconds;
  for (int sample = 0; sample < samples; ++sample) {
    seconds.push_back(require(compressors::cuda::deviceSeconds(several)) / kCalls);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

/// One codec and its buffers on the device.
class DeviceCase {
 public:
  DeviceCase(const DeviceCodec& codec, std::span<const float> sample)
      : codec_(codec),
        count_(sample.size()),
        values_(require(DeviceBuffer::make(sample.size_bytes()))),
        residual_(require(DeviceBuffer::make(sample.size_bytes()))),
        payload_(require(DeviceBuffer::make(codec.host().maxBytes(count_)))),
        merged_(require(DeviceBuffer::make(payload_.size()))),
        scratch_(require(DeviceBuffer::make(codec.scratchBytes(count_)))) {
    require(values_.upload(0, sample.data(), sample.size_bytes()));
    require(residual_.upload(0, sample.data(), sample.size_bytes()));
  }

  Status encode(bool feedback) {
    EncodeSegment segment{0, count_, {payload_.data(), payload_.size()}, 0};
    EncodeJob job;
    job.values = vector(values_);
    job.residual = feedback ? vector(residual_).data() : nullptr;
    job.scratch = {scratch_.data(), scratch_.size()};
    job.segments = {&segment, 1};
    const Status status = codec_.encode(job, nullptr);
    bytes_ = segment.bytes;
    return status;
  }
  /// Reads the length of the last payload where only the device knows it.
  void measureBytes() {
    if (!codec_.fixedBytes()) {
      const DeviceBuffer length = require(DeviceBuffer::make(sizeof(std::uint64_t)));
      auto* at = reinterpret_cast<std::uint64_t*>(length.data());
      require(codec_.measure({PayloadView(payload_.data(), payload_.size()), count_, at}, nullptr));
      std::uint64_t bytes = 0;
      require(length.download(&bytes, 0, sizeof bytes));
      bytes_ = bytes;
    }
  }
  Status decode(DecodeMode mode) { return decode({payload_.data(), bytes_}, mode); }
  Status decode(PayloadView payload, DecodeMode mode) {
    DecodeJob job;
    job.payloads = {&payload, 1};
    job.out = vector(residual_);
    job.mode = mode;
    job.scratch = {scratch_.data(), scratch_.size()};
    return codec_.decode(job, nullptr);
  }
  Status merge() {
    const PayloadView payload(payload_.data(), bytes_);
    MergeJob job;
    job.payloads = {&payload, 1};
    job.values = vector(residual_);
    job.factor = 0.5f; // keeps the values at their size, however often the merge runs
    job.scratch = {scratch_.data(), scratch_.size()};
    job.out = {merged_.data(), merged_.size()};
    return codec_.merge(job, nullptr);
  }
  /// Does what merge() does, except for the factor, by separate calls: decode and add, encode the sum, decode that.
  Status mergeApart() {
    if (Status status = decode(DecodeMode::add); !status.isOk()) {
      return status;
    }
    EncodeSegment segment{0, count_, {merged_.data(), merged_.size()}, 0};
    EncodeJob job;
    job.values = vector(residual_);
    job.scratch = {scratch_.data(), scratch_.size()};
    job.segments = {&segment, 1};
    const Status status = codec_.encode(job, nullptr);
    // Its length may differ from the first payload's, and only the device may know it: the upper bound is used.
    return status.isOk() ? decode({merged_.data(), merged_.size()}, DecodeMode::set) : status;
  }
  [[nodiscard]] double payloadBytes() const { return static_cast<double>(bytes_); }

 private:
  [[nodiscard]] std::span<float> vector(const DeviceBuffer& buffer) const {
    return {reinterpret_cast<float*>(buffer.data()), count_};
  }
  const DeviceCodec& codec_;
  const std::size_t count_;
  const DeviceBuffer values_, residual_, payload_, merged_, scratch_;
  std::size_t bytes_ = 0;
};

/// Bytes read and written in a second by a copy within the device.
double copyBandwidth(const DeviceCodecSettings& settings) {
  const DeviceBuffer from = require(DeviceBuffer::make(settings.bytes)),
                     to = require(DeviceBuffer::make(settings.bytes));
  const double seconds = secondsOf(
      settings.samples, [&] { return compressors::cuda::deviceCopy(to.data(), from.data(), settings.bytes); });
  const double bandwidth = 2 * static_cast<double>(settings.bytes) / seconds;
  fmt::print("# a copy of {} bytes within the device: {:.0f} GB/s read and written\n", settings.bytes,
             bandwidth * 1e-9);
  return bandwidth;
}

nlohmann::json measure(const DeviceCodecSettings& settings, const DeviceCodec& codec, std::span<const float> sample,
                       double bandwidth) {
  DeviceCase test(codec, sample);
  const double vector = static_cast<double>(settings.bytes);
  const double encode = secondsOf(settings.samples, [&] { return test.encode(false); });
  const double feedback = secondsOf(settings.samples, [&] { return test.encode(true); });
  test.measureBytes();
  const double decode = secondsOf(settings.samples, [&] { return test.decode(DecodeMode::set); });
  const double add = secondsOf(settings.samples, [&] { return test.decode(DecodeMode::add); });
  const double merge = secondsOf(settings.samples, [&] { return test.merge(); });
  const double apart = secondsOf(settings.samples, [&] { return test.mergeApart(); });
  const double payload = test.payloadBytes();
  // The part of the speed limit that is reached: the bytes that must be moved, at the speed of a copy.
  const double encode_limit = (vector + payload) / bandwidth / encode,
               add_limit = (2 * vector + payload) / bandwidth / add;
  const double merge_limit = (2 * vector + 2 * payload) / bandwidth / merge;
  fmt::print("{:<58}{:>8.0f}{:>8.0f}{:>8.0f}{:>8.0f}{:>8.0f}{:>8.0f}{:>8.2f}{:>9.2f}{:>9.2f}{:>9.2f}\n",
             codec.host().spec(), vector / encode * 1e-9, vector / feedback * 1e-9, vector / decode * 1e-9,
             vector / add * 1e-9, vector / merge * 1e-9, vector / apart * 1e-9, apart / merge, encode_limit, add_limit,
             merge_limit);
  std::fflush(stdout);
  return {{"codec", codec.host().spec()},          {"bytes", settings.bytes},
          {"encode_bytes_per_s", vector / encode}, {"encode_feedback_bytes_per_s", vector / feedback},
          {"decode_bytes_per_s", vector / decode}, {"decode_add_bytes_per_s", vector / add},
          {"merge_bytes_per_s", vector / merge},   {"merge_apart_bytes_per_s", vector / apart},
          {"merge_gain", apart / merge},           {"encode_of_copy", encode_limit},
          {"decode_add_of_copy", add_limit},       {"merge_of_copy", merge_limit}};
}

/// Measures a multi-phase codec: the time between its sums, and after the last one. The matrix is as square as
/// possible.
nlohmann::json measurePhases(const DeviceCodecSettings& settings, const DeviceCodec& codec,
                             std::span<const float> sample) {
  const std::size_t count = sample.size();
  std::size_t columns = 1;
  while (4 * columns * columns <= count && count % (2 * columns) == 0) {
    columns *= 2;
  }
  const std::size_t state_bytes = codec.host().stateFloats(count, columns) * sizeof(float);
  const DeviceBuffer values = require(DeviceBuffer::make(sample.size_bytes())),
                     state = require(DeviceBuffer::make(state_bytes)),
                     scratch = require(DeviceBuffer::make(codec.runScratchBytes(count, columns)));
  require(values.upload(0, sample.data(), sample.size_bytes()));
  require(state.upload(0, std::vector<std::byte>(state_bytes).data(), state_bytes));
  compressors::cuda::DeviceRunJob job;
  job.run.values = {reinterpret_cast<float*>(values.data()), count};
  job.run.columns = columns;
  job.run.state = {reinterpret_cast<float*>(state.data()), state_bytes / sizeof(float)};
  job.scratch = {scratch.data(), scratch.size()};
  const double seconds = secondsOf(settings.samples, [&]() -> Status {
    auto run = codec.start(job);
    if (!run.isOk()) {
      return run.status();
    }
    for (;;) {
      const Result<CodecPhase> phase = run.value()->next(nullptr);
      if (!phase.isOk() || phase.value().want == PhaseWant::done) {
        return phase.status();
      }
    }
  });
  const double vector = static_cast<double>(settings.bytes);
  fmt::print("{:<58}{:>8.0f} GB/s for all phases of a matrix of {} columns, without the sums between them\n",
             codec.host().spec(), vector / seconds * 1e-9, columns);
  std::fflush(stdout);
  return {{"codec", codec.host().spec()},
          {"bytes", settings.bytes},
          {"columns", columns},
          {"phases_bytes_per_s", vector / seconds}};
}

} // namespace

void runDeviceCodecBench(const DeviceCodecSettings& settings, std::span<const float> sample) {
  fmt::print("# device: {}; GB/s are bytes of the float32 vector\n", require(compressors::cuda::deviceName()));
  const double bandwidth = copyBandwidth(settings);
  fmt::print("{:<58}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}{:>9}\n", "# codec", "encode", "enc+ef", "decode",
             "add", "merge", "apart", "gain", "enc/copy", "add/copy", "mrg/copy");
  std::ofstream json;
  if (!settings.json_file.empty()) {
    json.open(settings.json_file);
  }
  for (const std::string& spec : settings.specs) {
    const auto made = compressors::cuda::makeDeviceCodec(spec);
    if (made.status().kind() == GOSS_ERR_UNSUPPORTED) {
      fmt::print("# {}\n", made.status().text());
      continue;
    }
    require(made.status());
    const DeviceCodec& codec = *made.value();
    const nlohmann::json row = codec.host().traits().multi_phase ? measurePhases(settings, codec, sample)
                                                                 : measure(settings, codec, sample, bandwidth);
    if (json.is_open()) {
      json << row.dump() << "\n";
    }
  }
}

} // namespace goss::bench
