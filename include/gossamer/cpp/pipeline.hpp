/// Pipeline schedules.
#ifndef GOSSAMER_CPP_PIPELINE_HPP_
#define GOSSAMER_CPP_PIPELINE_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/abi.h"
#include "gossamer/cpp/comm.hpp"
#include "gossamer/cpp/error.hpp"
#include "gossamer/cpp/topology.hpp"

namespace gossamer {

/// The schedule to make, as goss_pipeline_request.
struct PipelineRequest {
  const char* name = "1f1b";      ///< One of pipelineNames().
  std::int32_t ranks = 1;         ///< Number of ranks.
  std::int32_t micro_batches = 1; ///< Of one batch.
  std::int32_t batches = 1;       ///< How many follow one another.
  std::int32_t chunks = 2;        ///< Stages a rank of "interleaved".
  bool recompute = false;         ///< Forwards keep their input only.
};

/// Costs of every stage and link, as goss_pipeline_costs.
struct PipelineCosts {
  double forward_s = 1;
  double backward_input_s = 1;
  double backward_weight_s = 1;
  double recompute_s = 1;
  double activation_bytes = 1;
  double boundary_bytes = 0;
  double latency_s = 0;
  double bandwidth_bytes_per_s = 0;      ///< 0: without limit.
  std::span<const double> stage_times_s; ///< Empty, or [stages][3]: forward, input and weight gradient.

  goss_pipeline_costs raw() const {
    return {sizeof(goss_pipeline_costs),
            forward_s,
            backward_input_s,
            backward_weight_s,
            recompute_s,
            activation_bytes,
            boundary_bytes,
            latency_s,
            bandwidth_bytes_per_s,
            stage_times_s.data()};
  }
};

/// Numbers of ranks, of stages, and of micro-batches over all batches.
struct PipelineSize {
  std::int32_t ranks = 0;
  std::int32_t stages = 0;
  std::int32_t micro_batches = 0;
};

/// The codec to make, as goss_pipeline_codec_request.
struct PipelineCodecRequest {
  std::size_t sample_elems = 0;
  const char* forward = nullptr;
  const char* backward = nullptr;
  bool deltas = false;
  const char* cache_directory = nullptr;
};

/// Compression of what travels between stages. Holds its communicator.
template <class Errors = Throwing>
class BasicPipelineCodec {
 public:
  template <class T>
  using Return = typename Errors::template Return<T>;

  static Return<BasicPipelineCodec> create(const BasicComm<Errors>& comm, const PipelineCodecRequest& request) {
    goss_pipeline_codec_request given;
    goss_pipeline_codec_request_init(&given, sizeof(given));
    given.sample_elems = request.sample_elems;
    given.forward = request.forward;
    given.backward = request.backward;
    given.deltas = request.deltas ? 1 : 0;
    given.cache_directory = request.cache_directory;
    goss_pipeline_codec_t handle = nullptr;
    const goss_status status = goss_pipeline_codec_create(comm.handle(), &given, &handle);
    return Errors::finish(status, [&] { return BasicPipelineCodec(comm.state(), handle); });
  }
  /// What AQ-SGD knows of every sample, for a checkpoint.
  Return<std::vector<std::byte>> exportState() const {
    void* bytes = nullptr;
    std::size_t size = 0;
    const goss_status status = goss_pipeline_codec_export(handle(), &bytes, &size);
    return Errors::finish(status, [&] { return detail::takeBytes(bytes, size); });
  }
  Return<void> importState(std::span<const std::byte> bytes) {
    return Errors::finish(goss_pipeline_codec_import(handle(), bytes.data(), bytes.size()));
  }
  goss_pipeline_codec_t handle() const { return handle_.get(); }

 private:
  BasicPipelineCodec(detail::SharedComm comm, goss_pipeline_codec_t handle) : comm_(std::move(comm)), handle_(handle) {}
  detail::SharedComm comm_; // outlives handle_
  detail::Owned<goss_pipeline_codec_t, goss_pipeline_codec_destroy> handle_;
};

/// What a run computes. `run` gets every computation of its rank, in order, in the thread of Pipeline::run;
/// goss_pipeline_work says what input and output are. An exception of it aborts the communicator and leaves
/// Pipeline::run.
struct PipelineWork {
  using Bytes = std::span<std::byte>;
  std::size_t boundary_bytes = 0;
  std::function<void(const goss_pipeline_action& action, std::span<const std::byte> input, Bytes output)> run;
  goss_pipeline_codec_t codec = nullptr; ///< handle() of a PipelineCodec; nullptr: uncompressed.
  /// With a codec: the number of the sample at place `index` of a micro-batch.
  std::function<std::uint64_t(std::int32_t micro_batch, std::size_t index)> sample = {};
};

/// The names of all generators of schedules.
inline std::vector<std::string> pipelineNames() {
  std::vector<std::string> names;
  for (std::size_t index = 0; goss_pipeline_name(index) != nullptr; ++index) {
    names.emplace_back(goss_pipeline_name(index));
  }
  return names;
}

namespace detail {

/// A PipelineWork as the C ABI calls it: no exception passes through the library.
class PipelineCalls {
 public:
  explicit PipelineCalls(const PipelineWork& work) : work_(work) {}

  goss_pipeline_work raw() {
    goss_pipeline_work made;
    goss_pipeline_work_init(&made, sizeof(made));
    made.boundary_bytes = work_.boundary_bytes;
    made.context = this;
    made.run = run;
    made.codec = work_.codec;
    if (work_.sample) made.sample = sample;
    return made;
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static std::int32_t run(void* context, const goss_pipeline_action* action, const void* input, void* output) {
    auto& self = *static_cast<PipelineCalls*>(context);
    const std::size_t bytes = self.work_.boundary_bytes;
    try {
      self.work_.run(*action, {static_cast<const std::byte*>(input), input == nullptr ? 0 : bytes},
                     {static_cast<std::byte*>(output), output == nullptr ? 0 : bytes});
      return 0;
    } catch (...) {
      self.failure_ = std::current_exception();
      return 1;
    }
  }
  /// An exception of `sample` ends the program, because the library cannot go on without a number.
  static std::uint64_t sample(void* context, std::int32_t micro_batch, std::size_t index) noexcept {
    return static_cast<PipelineCalls*>(context)->work_.sample(micro_batch, index);
  }
  const PipelineWork& work_;
  std::exception_ptr failure_;
};

} // namespace detail

/// A schedule of all ranks. Immutable.
template <class Errors = Throwing>
class BasicPipeline {
 public:
  template <class T>
  using Return = typename Errors::template Return<T>;

  /// Local.
  static Return<BasicPipeline> generate(const PipelineRequest& request) {
    goss_pipeline_request given;
    goss_pipeline_request_init(&given, sizeof(given));
    given.name = request.name;
    given.ranks = request.ranks;
    given.micro_batches = request.micro_batches;
    given.batches = request.batches;
    given.chunks = request.chunks;
    given.recompute = request.recompute ? 1 : 0;
    goss_pipeline_t handle = nullptr;
    const goss_status status = goss_pipeline_generate(&given, &handle);
    return Errors::finish(status, [&] { return BasicPipeline(handle); });
  }
  /// Reads the CSV text of torch.distributed.pipelining.
  static Return<BasicPipeline> read(const std::string& text) {
    goss_pipeline_t handle = nullptr;
    const goss_status status = goss_pipeline_read(text.c_str(), &handle);
    return Errors::finish(status, [&] { return BasicPipeline(handle); });
  }
  /// The schedule as CSV text; `is_complete` false: computations only.
  Return<std::string> write(bool is_complete = true) const {
    char* text = nullptr;
    const goss_status status = goss_pipeline_write(handle(), is_complete ? 1 : 0, &text);
    return Errors::finish(status, [&] { return detail::takeText(text); });
  }
  Return<PipelineSize> size() const {
    PipelineSize size;
    const goss_status status = goss_pipeline_size(handle(), &size.ranks, &size.stages, &size.micro_batches);
    return Errors::finish(status, [&] { return size; });
  }
  /// The rank that holds `stage`.
  Return<std::int32_t> stageRank(std::int32_t stage) const {
    std::int32_t rank = -1;
    const goss_status status = goss_pipeline_stage_rank(handle(), stage, &rank);
    return Errors::finish(status, [&] { return rank; });
  }
  /// The actions of `rank`, which live as long as the schedule.
  Return<std::span<const goss_pipeline_action>> actions(std::int32_t rank) const {
    const goss_pipeline_action* first = nullptr;
    std::size_t count = 0;
    const goss_status status = goss_pipeline_actions(handle(), rank, &first, &count);
    return Errors::finish(status, [&] { return std::span<const goss_pipeline_action>(first, count); });
  }
  /// Proves the schedule correct; the limits are on what a rank holds at once, 0: none.
  Return<void> check(std::int32_t most_activations = 0, std::int32_t most_versions = 0) const {
    return Errors::finish(goss_pipeline_check(handle(), most_activations, most_versions));
  }
  /// Prices the schedule, as JSON text.
  Return<std::string> simulate(const PipelineCosts& costs = {}) const {
    const goss_pipeline_costs given = costs.raw();
    char* json = nullptr;
    goss_status status = checkTimes("goss_pipeline_simulate", costs);
    if (status == GOSS_SUCCESS) status = goss_pipeline_simulate(handle(), &given, &json);
    return Errors::finish(status, [&] { return detail::takeText(json); });
  }
  /// Draws the priced schedule, as text or as SVG.
  Return<std::string> draw(const PipelineCosts& costs = {}, bool is_svg = false) const {
    const goss_pipeline_costs given = costs.raw();
    char* text = nullptr;
    goss_status status = checkTimes("goss_pipeline_draw", costs);
    if (status == GOSS_SUCCESS) status = goss_pipeline_draw(handle(), &given, is_svg ? 1 : 0, &text);
    return Errors::finish(status, [&] { return detail::takeText(text); });
  }
  /// Collective: runs the schedule over a communicator of as many ranks.
  Return<void> run(const BasicComm<Errors>& comm, const PipelineWork& work) const {
    detail::PipelineCalls calls(work);
    const goss_pipeline_work given = calls.raw();
    const goss_status status = goss_pipeline_run(handle(), comm.handle(), &given);
    calls.rethrow();
    return Errors::finish(status);
  }

  goss_pipeline_t handle() const { return handle_.get(); }

 private:
  explicit BasicPipeline(goss_pipeline_t handle) : handle_(handle) {}
  goss_status checkTimes(const char* function, const PipelineCosts& costs) const {
    if (costs.stage_times_s.empty()) return GOSS_SUCCESS;
    std::int32_t stages = 0;
    if (const goss_status status = goss_pipeline_size(handle(), nullptr, &stages, nullptr); status != GOSS_SUCCESS)
      return status;
    return detail::expectCount(function, "stage_times_s", costs.stage_times_s.size(),
                               3 * static_cast<std::size_t>(stages));
  }
  detail::Owned<goss_pipeline_t, goss_pipeline_destroy> handle_;
};

} // namespace gossamer

#endif // GOSSAMER_CPP_PIPELINE_HPP_
