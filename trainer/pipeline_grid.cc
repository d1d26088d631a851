#include "trainer/pipeline_grid.h"

#include <exception>
#include <memory>

#include "trainer/error.h"
#include "trainer/file_io.h"

namespace goss::trainer {

namespace {

constexpr int kTag = 1;

void check(goss_status status) {
  if (status != GOSS_SUCCESS) fail("{}", goss_last_error());
}

goss_pipeline_t makeSchedule(const PipelineShape& shape) {
  goss_pipeline_t schedule = nullptr;
  if (shape.schedule.ends_with(".csv")) {
    const InputFile file(shape.schedule);
    std::string text(file.size(), '\0');
    file.read(0, text.data(), text.size());
    check(goss_pipeline_read(text.c_str(), &schedule));
    return schedule;
  }
  goss_pipeline_request request = GOSS_PIPELINE_REQUEST_INIT;
  request.name = shape.schedule.c_str();
  request.ranks = shape.ranks;
  request.micro_batches = shape.micro_batches;
  check(goss_pipeline_generate(&request, &schedule));
  return schedule;
}

/// Every forward uses the first weights, and every stage updates them once.
bool flushes(goss_pipeline_t schedule, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const goss_pipeline_action* actions = nullptr;
    std::size_t count = 0;
    check(goss_pipeline_actions(schedule, rank, &actions, &count));
    for (std::size_t i = 0; i < count; ++i) {
      if (actions[i].version > (actions[i].kind == GOSS_PIPELINE_STEP ? 1 : 0)) return false;
    }
  }
  return true;
}

} // namespace

PipelineGrid::PipelineGrid(goss_comm_t world, const PipelineShape& shape) {
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;
  check(goss_comm_rank(world, &world_rank));
  check(goss_comm_size(world, &world_size));
  if (world_size % shape.ranks != 0) {
    fail("{} ranks do not form pipelines of --pipeline {}; start a multiple of {}", world_size, shape.ranks,
         shape.ranks);
  }
  replicas_ = world_size / shape.ranks;
  replica_ = world_rank / shape.ranks;
  rank_ = world_rank % shape.ranks;
  schedule_ = makeSchedule(shape);
  try {
    std::int32_t ranks = 0;
    std::int32_t micro_batches = 0;
    check(goss_pipeline_size(schedule_, &ranks, &stages_, &micro_batches));
    if (ranks != shape.ranks || micro_batches != shape.micro_batches) {
      fail("schedule {} is for {} ranks and {} micro-batches, not for --pipeline {} and {} micro-batches",
           shape.schedule, ranks, micro_batches, shape.ranks, shape.micro_batches);
    }
    if (stages_ > shape.layers) {
      fail("schedule {} on {} ranks has {} stages, more than the model's {} layers; raise --layers or lower --pipeline",
           shape.schedule, shape.ranks, stages_, shape.layers);
    }
    if (!flushes(schedule_, shape.ranks)) {
      fail("goss-train runs schedules that flush, and {} does not; take gpipe, 1f1b, interleaved, zb-h1, zb-h2 or zb-v",
           shape.schedule);
    }
    check(goss_comm_split(world, replica_, rank_, &pipeline_comm_));
    check(goss_comm_split(world, rank_, replica_, &replica_comm_));
  } catch (...) {
    destroy();
    throw;
  }
}

PipelineGrid::~PipelineGrid() { destroy(); }

void PipelineGrid::destroy() {
  goss_wait_all(sends_.data(), sends_.size());
  goss_comm_destroy(replica_comm_);
  goss_comm_destroy(pipeline_comm_);
  goss_pipeline_destroy(schedule_);
}

int PipelineGrid::rankOf(int stage) const {
  std::int32_t rank = 0;
  check(goss_pipeline_stage_rank(schedule_, stage, &rank));
  return rank;
}

std::vector<int> PipelineGrid::owned() const {
  std::vector<int> result;
  for (int stage = 0; stage < stages_; ++stage) {
    if (rankOf(stage) == rank_) result.push_back(stage);
  }
  return result;
}

void PipelineGrid::run(std::size_t boundary_bytes, const Work& work) {
  struct Context {
    const Work& work;
    std::exception_ptr thrown;
  } context{work, nullptr};
  const goss_pipeline_work c{
      sizeof(goss_pipeline_work), boundary_bytes, &context,
      [](void* opaque, const goss_pipeline_action* action, const void* input, void* output) -> std::int32_t {
        auto& mine = *static_cast<Context*>(opaque);
        try {
          mine.work(*action, input, output);
          return 0;
        } catch (...) {
          mine.thrown = std::current_exception();
          return 1;
        }
      }};
  const goss_status status = goss_pipeline_run(schedule_, pipeline_comm_, &c);
  if (context.thrown) std::rethrow_exception(context.thrown);
  check(status);
}

void PipelineGrid::send(const void* data, std::size_t bytes, int peer) {
  check(goss_send(pipeline_comm_, data, bytes, GOSS_UINT8, peer, kTag, nullptr, nullptr));
}

void PipelineGrid::recv(void* data, std::size_t bytes, int peer) {
  check(goss_recv(pipeline_comm_, data, bytes, GOSS_UINT8, peer, kTag, nullptr, nullptr));
}

void PipelineGrid::startSend(const void* data, std::size_t bytes, int peer) {
  goss_request_t request = nullptr;
  check(goss_send(pipeline_comm_, data, bytes, GOSS_UINT8, peer, kTag, nullptr, &request));
  sends_.push_back(request);
}

void PipelineGrid::waitSends() {
  const goss_status status = goss_wait_all(sends_.data(), sends_.size());
  sends_.clear();
  check(status);
}

void PipelineGrid::sumOverReplicas(float* values, std::size_t count) {
  if (replicas_ == 1) return;
  check(goss_all_reduce(replica_comm_, values, values, count, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
}

std::uint64_t PipelineGrid::wireBytesSent() const {
  std::uint64_t bytes = 0;
  for (const goss_comm_t comm : {pipeline_comm_, replica_comm_}) {
    goss_counters counters{};
    counters.size = sizeof counters;
    check(goss_comm_counters(comm, &counters));
    bytes += counters.wire_bytes_sent;
  }
  return bytes;
}

void PipelineGrid::abort(const std::string& reason) noexcept {
  goss_comm_abort(pipeline_comm_, reason.c_str());
  goss_comm_abort(replica_comm_, reason.c_str());
}

} // namespace goss::trainer
