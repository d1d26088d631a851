// Pipeline schedules of the C ABI.
#include "gossamer/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <new>

#include "call/codec_pair.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "pipeline/boundary_codec.h"
#include "pipeline/checker.h"
#include "pipeline/csv.h"
#include "pipeline/generate.h"
#include "pipeline/runner.h"
#include "pipeline/simulator.h"
#include "pipeline/timeline.h"
#include "world/world.h"

struct goss_pipeline {
  goss::pipeline::Schedule schedule;
  std::vector<std::vector<goss_pipeline_action>> actions; ///< [rank] the same actions as C structs
};

struct goss_pipeline_codec {
  goss::platform::ProcessMark made_in;
  std::unique_ptr<goss::pipeline::BoundaryCodec> codec;
};

namespace goss::capi {

namespace {

using pipeline::Action;

/// Ok when calls may use the codec, which is not NULL: a forked child would share its file of samples with the parent.
Status checkCodec(const char* function, goss_pipeline_codec_t codec) {
  return codec->made_in.isInherited() ? inherited(function, "the codec") : Status::ok();
}

goss_pipeline_action toC(const Action& a) {
  return {static_cast<std::int32_t>(a.kind), a.stage, a.micro_batch, a.chain, a.version};
}

Status makeHandle(const char* function, Result<pipeline::Schedule> schedule, goss_pipeline_t* handle) {
  if (!schedule.isOk()) {
    return Status::error(schedule.status().kind(), fmt::format("{}: {}", function, schedule.status().text()));
  }
  auto made = std::make_unique<goss_pipeline>();
  made->schedule = schedule.take();
  for (const auto& order : made->schedule.per_rank) {
    std::vector<goss_pipeline_action>& actions = made->actions.emplace_back();
    actions.reserve(order.size());
    for (const Action& action : order)
      actions.push_back(toC(action));
  }
  *handle = made.release();
  return Status::ok();
}

Status giveText(const std::string& text, char** result) {
  auto* copy = static_cast<char*>(copyForCaller(text));
  if (copy == nullptr) throw std::bad_alloc();
  *result = copy;
  return Status::ok();
}

pipeline::PipelineCosts toCosts(const goss_pipeline_costs& costs, int stages) {
  pipeline::StageCost one;
  one.forward_s = costs.forward_s;
  one.input_s = costs.backward_input_s;
  one.weight_s = costs.backward_weight_s;
  one.recompute_s = costs.recompute_s;
  one.activation_bytes = costs.activation_bytes;
  one.boundary_bytes = costs.boundary_bytes;
  pipeline::PipelineCosts result{{one}, {costs.latency_s, costs.bandwidth_bytes_per_s}};
  if (costs.stage_times_s == nullptr) return result;
  result.stages.assign(static_cast<std::size_t>(stages), one);
  for (std::size_t stage = 0; stage < result.stages.size(); ++stage) {
    result.stages[stage].forward_s = costs.stage_times_s[3 * stage];
    result.stages[stage].input_s = costs.stage_times_s[3 * stage + 1];
    result.stages[stage].weight_s = costs.stage_times_s[3 * stage + 2];
  }
  return result;
}

Result<pipeline::Simulation> simulateHandle(const char* function, goss_pipeline_t handle,
                                            const goss_pipeline_costs* costs) {
  if (handle == nullptr) return invalid(fmt::format("{}: the pipeline is NULL", function));
  const goss_pipeline_costs defaults = GOSS_PIPELINE_COSTS_INIT;
  const auto read = readStruct(fmt::format("{}: costs", function), costs == nullptr ? &defaults : costs, defaults);
  if (!read.isOk()) return read.status();
  const pipeline::Schedule& schedule = handle->schedule;
  return pipeline::simulate(schedule, toCosts(read.value(), schedule.stages()));
}

/// The codec of a spec without feedback, because nothing keeps residuals of boundaries.
Result<std::shared_ptr<const Codec>> boundaryCodec(goss_comm_t comm, const char* spec) {
  if (spec == nullptr) return std::shared_ptr<const Codec>();
  auto found = comm->communicator->world().codecs().find(spec, {});
  if (!found.isOk()) return found.status();
  if (found.value()->feedback()) {
    return invalid(
        fmt::format("goss_pipeline_codec_create: '{}' keeps feedback, which boundaries have no place for", spec));
  }
  return found.value()->contribution.codec;
}

std::string toJson(const pipeline::Simulation& simulation, const pipeline::CheckReport& report) {
  std::string links;
  for (const auto& [ranks, bytes] : simulation.link_bytes) {
    links += fmt::format("{}{{\"from\": {}, \"to\": {}, \"bytes\": {}}}", links.empty() ? "" : ", ", ranks.first,
                         ranks.second, bytes);
  }
  return fmt::format(
      "{{\"makespan_s\": {}, \"bubble_s\": {}, \"span_s\": [{}], \"busy_s\": [{}], \"peak_bytes\": [{}], "
      "\"peak_activations\": [{}], \"live_versions\": [{}], \"messages\": {}, \"links\": [{}]}}",
      simulation.makespan_s, simulation.bubble_s, fmt::join(simulation.span_s, ", "),
      fmt::join(simulation.busy_s, ", "), fmt::join(simulation.peak_bytes, ", "),
      fmt::join(report.peak_activations, ", "), fmt::join(report.live_versions, ", "), report.messages, links);
}

} // namespace

} // namespace goss::capi

using namespace goss::capi; // NOLINT(google-build-using-namespace): the C functions are not in a namespace
using goss::Result;
using goss::Status;
namespace pipeline = goss::pipeline;

extern "C" {

const char* goss_pipeline_name(size_t index) {
  const auto& names = pipeline::scheduleNames();
  return index < names.size() ? names[index].c_str() : nullptr;
}

goss_status goss_pipeline_generate(const goss_pipeline_request* request, goss_pipeline_t* handle) {
  return guarded("goss_pipeline_generate", [&]() -> Status {
    if (handle == nullptr) return invalid("goss_pipeline_generate: pipeline must not be NULL");
    const auto read =
        readStruct<goss_pipeline_request>("goss_pipeline_generate: request", request, GOSS_PIPELINE_REQUEST_INIT);
    if (!read.isOk()) return read.status();
    const goss_pipeline_request& wanted = read.value();
    if (wanted.name == nullptr) return invalid("goss_pipeline_generate: request.name is NULL; name a schedule");
    return makeHandle("goss_pipeline_generate",
                      pipeline::generate({.name = wanted.name,
                                          .ranks = wanted.ranks,
                                          .micro_batches = wanted.micro_batches,
                                          .batches = wanted.batches,
                                          .chunks = wanted.chunks,
                                          .recompute = wanted.recompute != 0}),
                      handle);
  });
}

goss_status goss_pipeline_request_init(goss_pipeline_request* request, size_t size) {
  return initStruct<goss_pipeline_request>("goss_pipeline_request_init", GOSS_PIPELINE_REQUEST_INIT, request, size);
}

goss_status goss_pipeline_costs_init(goss_pipeline_costs* costs, size_t size) {
  return initStruct<goss_pipeline_costs>("goss_pipeline_costs_init", GOSS_PIPELINE_COSTS_INIT, costs, size);
}

goss_status goss_pipeline_codec_request_init(goss_pipeline_codec_request* request, size_t size) {
  return initStruct<goss_pipeline_codec_request>("goss_pipeline_codec_request_init", GOSS_PIPELINE_CODEC_REQUEST_INIT,
                                                 request, size);
}

goss_status goss_pipeline_work_init(goss_pipeline_work* work, size_t size) {
  return initStruct("goss_pipeline_work_init", goss_pipeline_work{}, work, size);
}

goss_status goss_pipeline_read(const char* text, goss_pipeline_t* handle) {
  return guarded("goss_pipeline_read", [&]() -> Status {
    if (text == nullptr || handle == nullptr) return invalid("goss_pipeline_read: text and pipeline must not be NULL");
    return makeHandle("goss_pipeline_read", pipeline::readCsv(text), handle);
  });
}

goss_status goss_pipeline_write(goss_pipeline_t handle, int32_t is_complete, char** text) {
  return guarded("goss_pipeline_write", [&]() -> Status {
    if (handle == nullptr || text == nullptr) return invalid("goss_pipeline_write: pipeline and text must not be NULL");
    const Result<std::string> csv = pipeline::writeCsv(handle->schedule, is_complete != 0);
    return csv.isOk() ? giveText(csv.value(), text) : csv.status();
  });
}

goss_status goss_pipeline_destroy(goss_pipeline_t handle) {
  delete handle;
  return report(Status::ok());
}

goss_status goss_pipeline_size(goss_pipeline_t handle, int32_t* ranks, int32_t* stages, int32_t* micro_batches) {
  return guarded("goss_pipeline_size", [&]() -> Status {
    if (handle == nullptr) return invalid("goss_pipeline_size: the pipeline is NULL");
    if (ranks != nullptr) *ranks = handle->schedule.ranks;
    if (stages != nullptr) *stages = handle->schedule.stages();
    if (micro_batches != nullptr) *micro_batches = handle->schedule.micro_batches;
    return Status::ok();
  });
}

goss_status goss_pipeline_stage_rank(goss_pipeline_t handle, int32_t stage, int32_t* rank) {
  return guarded("goss_pipeline_stage_rank", [&]() -> Status {
    if (handle == nullptr || rank == nullptr) {
      return invalid("goss_pipeline_stage_rank: pipeline and rank must not be NULL");
    }
    if (stage < 0 || stage >= handle->schedule.stages()) {
      return invalid(
          fmt::format("goss_pipeline_stage_rank: there are {} stages, no stage {}", handle->schedule.stages(), stage));
    }
    *rank = handle->schedule.stage_rank[static_cast<std::size_t>(stage)];
    return Status::ok();
  });
}

goss_status goss_pipeline_actions(goss_pipeline_t handle, int32_t rank, const goss_pipeline_action** actions,
                                  size_t* count) {
  return guarded("goss_pipeline_actions", [&]() -> Status {
    if (handle == nullptr || actions == nullptr || count == nullptr) {
      return invalid("goss_pipeline_actions: pipeline, actions and count must not be NULL");
    }
    if (rank < 0 || rank >= handle->schedule.ranks) {
      return invalid(
          fmt::format("goss_pipeline_actions: there are {} ranks, no rank {}", handle->schedule.ranks, rank));
    }
    const auto& list = handle->actions[static_cast<std::size_t>(rank)];
    *actions = list.data();
    *count = list.size();
    return Status::ok();
  });
}

goss_status goss_pipeline_check(goss_pipeline_t handle, int32_t most_activations, int32_t most_versions) {
  return guarded("goss_pipeline_check", [&]() -> Status {
    if (handle == nullptr) return invalid("goss_pipeline_check: the pipeline is NULL");
    if (most_activations < 0 || most_versions < 0) return invalid("goss_pipeline_check: a limit is negative");
    return pipeline::check(handle->schedule, {most_activations, most_versions}).status();
  });
}

goss_status goss_pipeline_simulate(goss_pipeline_t handle, const goss_pipeline_costs* costs, char** json) {
  return guarded("goss_pipeline_simulate", [&]() -> Status {
    if (json == nullptr) return invalid("goss_pipeline_simulate: json is NULL");
    const Result<pipeline::Simulation> simulation = simulateHandle("goss_pipeline_simulate", handle, costs);
    if (!simulation.isOk()) return simulation.status();
    const Result<pipeline::CheckReport> checked = pipeline::check(handle->schedule);
    if (!checked.isOk()) return checked.status();
    return giveText(toJson(simulation.value(), checked.value()), json);
  });
}

goss_status goss_pipeline_draw(goss_pipeline_t handle, const goss_pipeline_costs* costs, int32_t is_svg, char** text) {
  return guarded("goss_pipeline_draw", [&]() -> Status {
    if (text == nullptr) return invalid("goss_pipeline_draw: text is NULL");
    const Result<pipeline::Simulation> simulation = simulateHandle("goss_pipeline_draw", handle, costs);
    if (!simulation.isOk()) return simulation.status();
    const auto draw = is_svg != 0 ? pipeline::renderSvg : pipeline::renderText;
    return giveText(draw(handle->schedule, simulation.value()), text);
  });
}

goss_status goss_pipeline_codec_create(goss_comm_t comm, const goss_pipeline_codec_request* request,
                                       goss_pipeline_codec_t* codec) {
  return guarded("goss_pipeline_codec_create", [&]() -> Status {
    if (Status status = checkComm("goss_pipeline_codec_create", comm); !status.isOk()) return status;
    if (codec == nullptr) return invalid("goss_pipeline_codec_create: codec must not be NULL");
    const auto read = readStruct<goss_pipeline_codec_request>("goss_pipeline_codec_create: request", request,
                                                              GOSS_PIPELINE_CODEC_REQUEST_INIT);
    if (!read.isOk()) return read.status();
    const goss_pipeline_codec_request& wanted = read.value();
    auto forward = boundaryCodec(comm, wanted.forward);
    if (!forward.isOk()) return forward.status();
    auto backward = boundaryCodec(comm, wanted.backward);
    if (!backward.isOk()) return backward.status();
    auto made =
        pipeline::BoundaryCodec::create({forward.take(), backward.take(), wanted.deltas != 0, wanted.sample_elems,
                                         wanted.cache_directory != nullptr ? wanted.cache_directory : ""});
    if (!made.isOk()) return made.status();
    *codec = new goss_pipeline_codec{{}, made.take()};
    return Status::ok();
  });
}

goss_status goss_pipeline_codec_destroy(goss_pipeline_codec_t codec) {
  if (codec != nullptr && !codec->made_in.isInherited()) delete codec;
  return report(Status::ok());
}

goss_status goss_pipeline_codec_export(goss_pipeline_codec_t codec, void** bytes, size_t* size) {
  return guarded("goss_pipeline_codec_export", [&]() -> Status {
    if (codec == nullptr || bytes == nullptr || size == nullptr) {
      return invalid("goss_pipeline_codec_export: codec, bytes and size must not be NULL");
    }
    if (Status status = checkCodec("goss_pipeline_codec_export", codec); !status.isOk()) return status;
    if (codec->codec->isAbandoned()) {
      return invalid("goss_pipeline_codec_export: a run failed, and ends of a boundary may know different samples");
    }
    const Result<std::string> state = codec->codec->samples().exportAll();
    if (!state.isOk()) return state.status();
    void* copy = copyForCaller(state.value());
    if (copy == nullptr) return Status::error(GOSS_ERR_RESOURCE, "goss_pipeline_codec_export: out of memory");
    *bytes = copy;
    *size = state.value().size();
    return Status::ok();
  });
}

goss_status goss_pipeline_codec_import(goss_pipeline_codec_t codec, const void* bytes, size_t size) {
  return guarded("goss_pipeline_codec_import", [&]() -> Status {
    if (codec == nullptr || bytes == nullptr) {
      return invalid("goss_pipeline_codec_import: codec and bytes must not be NULL");
    }
    if (Status status = checkCodec("goss_pipeline_codec_import", codec); !status.isOk()) return status;
    if (!codec->codec->hasDeltas()) return invalid("goss_pipeline_codec_import: the codec has no deltas");
    try {
      Status status = codec->codec->samples().importAll({static_cast<const char*>(bytes), size});
      if (status.kind() == GOSS_ERR_RESOURCE) codec->codec->abandon();
      return status;
    } catch (const std::bad_alloc&) { // only some of the samples were imported
      codec->codec->abandon();
      throw;
    }
  });
}

goss_status goss_pipeline_run(goss_pipeline_t handle, goss_comm_t comm, const goss_pipeline_work* given) {
  return guarded("goss_pipeline_run", [&]() -> Status {
    if (handle == nullptr) return invalid("goss_pipeline_run: pipeline must not be NULL");
    if (Status status = checkComm("goss_pipeline_run", comm); !status.isOk()) return status;
    const auto read = readStruct("goss_pipeline_run: work", given, goss_pipeline_work{});
    if (!read.isOk()) return read.status();
    const goss_pipeline_work* work = &read.value();
    if (work->run == nullptr) return invalid("goss_pipeline_run: work.run is NULL");
    if (work->codec != nullptr) {
      if (Status status = checkCodec("goss_pipeline_run", work->codec); !status.isOk()) return status;
      if (work->sample == nullptr) return invalid("goss_pipeline_run: a codec needs work.sample");
    }
    return pipeline::run(
        handle->schedule, comm,
        {work->boundary_bytes,
         [work](const Action& action, const void* input, void* output) {
           const goss_pipeline_action seen = toC(action);
           return work->run(work->context, &seen, input, output) == 0;
         },
         work->codec != nullptr ? work->codec->codec.get() : nullptr,
         [work](int micro_batch, std::size_t index) { return work->sample(work->context, micro_batch, index); }});
  });
}

} // extern "C"
