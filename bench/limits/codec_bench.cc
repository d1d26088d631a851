#include "bench/limits/codec_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/limits/device_codec_bench.h"
#include "compressors/catalogue.h"
#include "compressors/chain.h"
#include "tools/commandline/command_line.h"

namespace goss::bench {

namespace {

using Clock = std::chrono::steady_clock;
using Floats = std::vector<float>;

struct Settings {
  std::vector<std::string> specs;
  std::size_t bytes = 64u << 20;
  int samples = 5;
  int sample_ms = 50;
  std::string isa;
  std::string device = "cpu";
  std::string json_file;
};

/// Median over samples of the seconds of one call; the first call is not timed.
double secondsOf(const Settings& settings, const std::function<void()>& call) {
  call();
  std::vector<double> seconds;
  for (int sample = 0; sample < settings.samples; ++sample) {
    const auto start = Clock::now();
    auto now = start;
    int calls = 0;
    while (now - start < std::chrono::milliseconds(settings.sample_ms)) {
      call();
      ++calls;
      now = Clock::now();
    }
    seconds.push_back(std::chrono::duration<double>(now - start).count() / calls);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void require(const Status& status) {
  if (!status.isOk()) {
    throw std::runtime_error(status.text());
  }
}

/// Values in layers of 16384 elements with different scales and heavy tails.
Floats sampleValues(std::size_t count) {
  std::mt19937 engine(1);
  std::student_t_distribution<float> student(4.0f);
  std::lognormal_distribution<float> scales(0.0f, 1.5f);
  Floats pool(1u << 16);
  std::generate(pool.begin(), pool.end(), [&] { return student(engine); });
  Floats values(count);
  float scale = 1;
  for (std::size_t i = 0; i < count; ++i) {
    scale = i % 16384 == 0 ? scales(engine) : scale;
    values[i] = scale * pool[(i + i / pool.size() * 17) % pool.size()];
  }
  return values;
}

struct Buffers {
  Floats values, out, residual;
  std::vector<std::byte> payload, merged, scratch;

  explicit Buffers(const Codec& codec, const Floats& sample)
      : values(sample),
        out(sample.size()),
        residual(sample.size()),
        payload(codec.maxBytes(sample.size())),
        merged(payload.size()),
        scratch(codec.scratchBytes(sample.size()) + 64) {}
  std::span<std::byte> alignedScratch() {
    const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    return std::span(scratch).subspan((64 - address % 64) % 64).first(scratch.size() - 64);
  }
};

class CodecCase {
 public:
  CodecCase(const Codec& codec, const Floats& sample) : codec_(codec), buffers_(codec, sample) { encode(false); }

  void encode(bool feedback) {
    bytes_ = encode(buffers_.values, feedback ? buffers_.residual.data() : nullptr, buffers_.payload);
  }
  void decode(DecodeMode mode) { decode(PayloadView(buffers_.payload).first(bytes_), mode); }
  /// Does what merge() does, except for the factor, by separate calls: decode and add, encode the sum, decode that.
  void mergeApart() {
    decode(DecodeMode::add);
    const std::size_t bytes = encode(buffers_.out, nullptr, buffers_.merged);
    decode(PayloadView(buffers_.merged).first(bytes), DecodeMode::set);
  }
  void merge() {
    const PayloadView payload = PayloadView(buffers_.payload).first(bytes_);
    MergeJob job;
    job.payloads = {&payload, 1};
    job.values = buffers_.out;
    job.factor = 0.5f; // keeps the values at their size, however often the merge runs
    job.random = {PrivateStream({1, 0, 1, 0}, 0), SharedStream({1, 0, 1, 0})};
    job.scratch = buffers_.alignedScratch();
    job.out = buffers_.merged;
    require(codec_.merge(job));
  }
  [[nodiscard]] std::size_t payloadBytes() const { return bytes_; }
  double normalizedError() {
    encode(false);
    decode(DecodeMode::set);
    double lost = 0, whole = 0;
    for (std::size_t i = 0; i < buffers_.values.size(); ++i) {
      const double x = buffers_.values[i], difference = x - static_cast<double>(buffers_.out[i]);
      lost += difference * difference;
      whole += x * x;
    }
    return lost / whole;
  }

 private:
  std::size_t encode(std::span<const float> values, float* residual, std::span<std::byte> to) {
    EncodeSegment segment{0, values.size(), to, 0};
    EncodeJob job;
    job.values = values;
    job.residual = residual;
    job.random = {PrivateStream({1, 0, 1, 0}, 0), SharedStream({1, 0, 1, 0})};
    job.scratch = buffers_.alignedScratch();
    job.segments = {&segment, 1};
    require(codec_.encode(job));
    return segment.bytes;
  }
  void decode(PayloadView payload, DecodeMode mode) {
    DecodeJob job;
    job.payloads = {&payload, 1};
    job.out = buffers_.out;
    job.mode = mode;
    job.shared = SharedStream({1, 0, 1, 0});
    job.scratch = buffers_.alignedScratch();
    require(codec_.decode(job));
  }

  const Codec& codec_;
  Buffers buffers_;
  std::size_t bytes_ = 0;
};

/// Bytes that memcpy reads and writes in a second: the reference of "of limit".
double copyBandwidth(const Settings& settings) {
  std::vector<std::byte> from(settings.bytes, std::byte{1}), to(settings.bytes);
  const double seconds = secondsOf(settings, [&] { std::memcpy(to.data(), from.data(), settings.bytes); });
  fmt::print("# memcpy of {} bytes: {:.2f} GB/s\n", settings.bytes,
             static_cast<double>(settings.bytes) / seconds * 1e-9);
  return 2 * static_cast<double>(settings.bytes) / seconds;
}

void measure(const Settings& settings, const Codec& codec, const Floats& sample, double bandwidth,
             std::ofstream* json) {
  const auto vector = static_cast<double>(settings.bytes);
  CodecCase test(codec, sample);
  const auto payload = static_cast<double>(test.payloadBytes());
  const double error = test.normalizedError();
  const double encode = secondsOf(settings, [&] { test.encode(false); });
  const double feedback = secondsOf(settings, [&] { test.encode(true); });
  const double decode = secondsOf(settings, [&] { test.decode(DecodeMode::set); });
  const double add = secondsOf(settings, [&] { test.decode(DecodeMode::add); });
  const double merge = secondsOf(settings, [&] { test.merge(); });
  const double apart = secondsOf(settings, [&] { test.mergeApart(); });
  const double encode_limit = (vector + payload) / bandwidth / encode;
  const double add_limit = (2 * vector + payload) / bandwidth / add;
  fmt::print("{:<52}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>8.2f}{:>7.2f}{:>9.2f}{:>9.2f}{:>9.2f}{:>11.2e}\n",
             codec.spec(), vector / encode * 1e-9, vector / feedback * 1e-9, vector / decode * 1e-9,
             vector / add * 1e-9, vector / merge * 1e-9, vector / apart * 1e-9, apart / merge, encode_limit, add_limit,
             vector / payload, error);
  std::fflush(stdout);
  if (json != nullptr) {
    *json << nlohmann::json{{"codec", codec.spec()},
                            {"bytes", settings.bytes},
                            {"encode_bytes_per_s", vector / encode},
                            {"encode_feedback_bytes_per_s", vector / feedback},
                            {"decode_bytes_per_s", vector / decode},
                            {"decode_add_bytes_per_s", vector / add},
                            {"merge_bytes_per_s", vector / merge},
                            {"merge_apart_bytes_per_s", vector / apart},
                            {"merge_gain", apart / merge},
                            {"encode_of_copy", encode_limit},
                            {"decode_add_of_copy", add_limit},
                            {"ratio", vector / payload},
                            {"normalized_error", error}}
                 .dump()
          << "\n";
  }
}

std::vector<std::string> specsOf(const Settings& settings) {
  std::vector<std::string> specs = settings.specs;
  for (const compressors::CodecEntry& entry : compressors::builtinCodecs()) {
    if (settings.specs.empty()) specs.emplace_back(entry.example);
  }
  return specs;
}

void run(const Settings& settings) {
  const auto all = compressors::availableLoops();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const compressors::Loops& loops) { return settings.isa == loops.isa; });
  if (found == all.end() && !settings.isa.empty()) {
    throw std::runtime_error(fmt::format("this machine has no instruction set '{}'; leave out --isa", settings.isa));
  }
  const compressors::Loops& loops = found == all.end() ? all.back() : *found;
  std::ofstream json;
  if (!settings.json_file.empty()) json.open(settings.json_file);
  fmt::print("# instruction set: {}; GB/s are bytes of the float32 vector\n", loops.isa);
  const double bandwidth = copyBandwidth(settings);
  fmt::print("{:<52}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>7}{:>9}{:>9}{:>9}{:>11}\n", "# codec", "encode", "enc+ef",
             "decode", "add", "merge", "apart", "gain", "enc/copy", "add/copy", "ratio", "error");
  const Floats sample = sampleValues(settings.bytes / sizeof(float));
  for (const std::string& spec : specsOf(settings)) {
    const Result<Compression> made = compressors::makeCompression(spec, loops);
    require(made.status());
    if (!made.value().codec->traits().multi_phase) {
      measure(settings, *made.value().codec, sample, bandwidth, json.is_open() ? &json : nullptr);
    }
  }
}

} // namespace

int runCodecBench(int argc, char** argv) {
  Settings settings;
  goss::CommandLine line{"Speed, ratio and error of the compressors on one core"};
  line.option("specs", settings.specs, "Codecs, such as int8:block=256; by default the whole catalogue");
  line.option("-m,--message-size", settings.bytes, "Bytes of the float32 vector").range(1024ul, 1ul << 32);
  line.option("--samples", settings.samples, "Samples per figure; medians are printed").range(1, 1000);
  line.option("--sample-ms", settings.sample_ms, "Shortest time of one sample").range(1, 10000);
  line.option("--isa", settings.isa, "default, avx2 or avx512; otherwise the widest");
  line.option("--device", settings.device, "Where the codecs run: cpu, or cuda, where the build has kernels")
      .oneOf({"cpu", "cuda"});
  line.option("--json", settings.json_file, "Writes one JSON object a line to this file");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  try {
    if (settings.device == "cuda") {
      runDeviceCodecBench({specsOf(settings), settings.bytes, settings.samples, settings.json_file},
                          sampleValues(settings.bytes / sizeof(float)));
    } else {
      run(settings);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-bench codec: {}\n", error.what());
    return 1;
  }
  return 0;
}

} // namespace goss::bench
