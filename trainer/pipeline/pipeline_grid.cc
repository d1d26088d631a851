#include "trainer/pipeline/pipeline_grid.h"

#include <algorithm>
#include <exception>
#include <memory>

#include "trainer/base/error.h"
#include "trainer/files/file_io.h"

namespace goss::trainer {

namespace {

constexpr int kTag = 1;

void check(goss_status status) {
  if (status != GOSS_SUCCESS) fail("{}", goss_last_error());
}

bool isFile(const PipelineShape& shape) { return shape.schedule.ends_with(".csv"); }

goss_pipeline_t makeSchedule(const PipelineShape& shape, int batches) {
  goss_pipeline_t schedule = nullptr;
  if (isFile(shape)) {
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
  request.batches = batches;
  request.recompute = shape.recompute ? 1 : 0;
  check(goss_pipeline_generate(&request, &schedule));
  return schedule;
}

std::span<const goss_pipeline_action> actionsOf(goss_pipeline_t schedule, int rank) {
  const goss_pipeline_action* actions = nullptr;
  std::size_t count = 0;
  check(goss_pipeline_actions(schedule, rank, &actions, &count));
  return {actions, count};
}

/// Checks the properties of a schedule that UnflushedRun relies on. Throws Error that names the file and what is
/// missing.
void checkUnflushedFile(goss_pipeline_t schedule, const PipelineShape& shape, int stages) {
  std::int32_t first = 0;
  check(goss_pipeline_stage_rank(schedule, 0, &first));
  if (stages != shape.ranks || first != 0)
    fail("{} does not flush: goss-train then runs one stage a rank, the first one on rank 0", shape.schedule);
  int update_every = 0;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (const goss_pipeline_action& action : actionsOf(schedule, rank)) {
      if (action.kind == GOSS_PIPELINE_BACKWARD_INPUT || action.kind == GOSS_PIPELINE_BACKWARD_WEIGHT)
        fail("{} does not flush: goss-train then runs whole backward passes, B instead of I and W", shape.schedule);
      if (action.kind != GOSS_PIPELINE_STEP) continue;
      if (update_every == 0) update_every = (action.micro_batch + 1) / std::max(1, action.version);
      if (action.micro_batch + 1 != action.version * update_every)
        fail("{}: stage {} is updated after micro-batch {}; all updates have to be of equally many", shape.schedule,
             action.stage, action.micro_batch);
    }
  }
  if (update_every == 0 || shape.micro_batches % update_every != 0)
    fail("{}: its updates are of {} micro-batches, which does not divide the {} of a step", shape.schedule,
         update_every, shape.micro_batches);
}

/// Whether every batch uses the weights that all batches before it have made.
bool flushesBetween(goss_pipeline_t schedule, const PipelineShape& shape) {
  for (int rank = 0; rank < shape.ranks; ++rank) {
    for (const goss_pipeline_action& action : actionsOf(schedule, rank)) {
      const bool uses_weights = action.kind <= GOSS_PIPELINE_RECOMPUTE;
      const int done = action.micro_batch / shape.micro_batches;
      if (uses_weights && action.version != done) return false;
      if (action.kind == GOSS_PIPELINE_STEP && action.version != done + 1) return false;
    }
  }
  return true;
}

} // namespace

void checkGrid(int ranks, int pipeline, int islands) {
  if (pipeline > 0 && islands > 0 && ranks % (pipeline * islands) == 0) return;
  if (islands <= 1) {
    fail("{} ranks do not form pipelines of --pipeline {}; start a multiple of {}", ranks, pipeline, pipeline);
  }
  fail("{} ranks do not form --islands {} with pipelines of --pipeline {}; start a multiple of {}", ranks, islands,
       pipeline, islands * pipeline);
}

PipelineGrid::PipelineGrid(goss_comm_t world, const PipelineShape& shape) : shape_(shape) {
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;
  check(goss_comm_rank(world, &world_rank));
  check(goss_comm_size(world, &world_size));
  checkGrid(world_size, shape.ranks, shape.islands);
  replicas_ = world_size / shape.ranks;
  islands_ = shape.islands;
  replica_ = world_rank / shape.ranks;
  rank_ = world_rank % shape.ranks;
  schedule_ = makeSchedule(shape, 1);
  try {
    std::int32_t ranks = 0;
    std::int32_t micro_batches = 0;
    check(goss_pipeline_size(schedule_, &ranks, &stages_, &micro_batches));
    const bool fits = ranks == shape.ranks && micro_batches % shape.micro_batches == 0;
    if (fits && isFile(shape)) batches_ = micro_batches / shape.micro_batches;
    if (!isFile(shape)) prepare(2); // only the second batch shows that a schedule is 2BW
    flushes_ = !fits || flushesBetween(schedule_, shape);
    if (!isFile(shape)) prepare(1);
    if (!fits || (flushes_ && batches_ != 1)) {
      fail("schedule {} is for {} ranks and {} micro-batches, not for --pipeline {} and {} micro-batches",
           shape.schedule, ranks, micro_batches, shape.ranks, shape.micro_batches);
    }
    if (stages_ > shape.layers) {
      fail("schedule {} on {} ranks has {} stages, more than the model's {} layers; raise --layers or lower --pipeline",
           shape.schedule, shape.ranks, stages_, shape.layers);
    }
    if (!flushes_ && isFile(shape)) checkUnflushedFile(schedule_, shape, stages_);
    check(goss_comm_split(world, replica_, rank_, &pipeline_comm_));
    const int per_island = replicas_ / islands_;
    check(goss_comm_split(world, replica_ / per_island * shape.ranks + rank_, replica_, &replica_comm_));
    check(goss_comm_split(world, replica_ % per_island * shape.ranks + rank_, replica_, &across_comm_));
  } catch (...) {
    destroy();
    throw;
  }
}

PipelineGrid::~PipelineGrid() { destroy(); }

void PipelineGrid::destroy() {
  goss_wait_all(sends_.data(), sends_.size());
  for (Post& post : posts_)
    goss_wait(&post.request, nullptr);
  goss_comm_destroy(across_comm_);
  goss_comm_destroy(replica_comm_);
  goss_comm_destroy(pipeline_comm_);
  goss_pipeline_destroy(schedule_);
  goss_pipeline_codec_destroy(codec_);
}

int PipelineGrid::fixedBatches() const { return isFile(shape_) ? batches_ : 0; }

std::string PipelineGrid::text() const {
  char* text = nullptr;
  check(goss_pipeline_write(schedule_, 1, &text));
  std::string result(text);
  goss_free(text);
  return result;
}

void PipelineGrid::prepare(int batches) {
  if (batches == batches_) return;
  if (isFile(shape_)) fail("{} is a schedule of {} batches, not of {}", shape_.schedule, batches_, batches);
  goss_pipeline_t schedule = makeSchedule(shape_, batches);
  goss_pipeline_destroy(schedule_);
  schedule_ = schedule;
  batches_ = batches;
}

std::span<const goss_pipeline_action> PipelineGrid::actions(int rank) const { return actionsOf(schedule_, rank); }

std::set<std::pair<int, int>> PipelineGrid::recomputed() const {
  std::set<std::pair<int, int>> result;
  for (const goss_pipeline_action& action : actions(rank_)) {
    if (action.kind == GOSS_PIPELINE_RECOMPUTE) result.emplace(action.stage, action.micro_batch);
  }
  return result;
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

void PipelineGrid::compress(const BoundaryCodecs& codecs, SampleNumber sample) {
  goss_pipeline_codec_request request = GOSS_PIPELINE_CODEC_REQUEST_INIT;
  request.sample_elems = codecs.sample_elems;
  if (!codecs.forward.empty()) request.forward = codecs.forward.c_str();
  if (!codecs.backward.empty()) request.backward = codecs.backward.c_str();
  request.deltas = codecs.deltas ? 1 : 0;
  if (!codecs.cache.empty()) request.cache_directory = codecs.cache.c_str();
  check(goss_pipeline_codec_create(pipeline_comm_, &request, &codec_));
  has_deltas_ = codecs.deltas;
  sample_ = std::move(sample);
}

std::string PipelineGrid::activations() const {
  if (!has_deltas_) return "";
  void* bytes = nullptr;
  std::size_t size = 0;
  check(goss_pipeline_codec_export(codec_, &bytes, &size));
  std::string result(static_cast<const char*>(bytes), size);
  goss_free(bytes);
  return result;
}

void PipelineGrid::restoreActivations(const std::string& bytes) {
  if (has_deltas_ && !bytes.empty()) check(goss_pipeline_codec_import(codec_, bytes.data(), bytes.size()));
}

void PipelineGrid::run(std::size_t boundary_bytes, const Work& work) {
  struct Context {
    const Work& work;
    const SampleNumber& sample;
    std::exception_ptr thrown;
  } context{work, sample_, nullptr};
  const goss_pipeline_work c{
      sizeof(goss_pipeline_work),
      boundary_bytes,
      &context,
      [](void* opaque, const goss_pipeline_action* action, const void* input, void* output) -> std::int32_t {
        auto& mine = *static_cast<Context*>(opaque);
        try {
          mine.work(*action, input, output);
          return 0;
        } catch (...) {
          mine.thrown = std::current_exception();
          return 1;
        }
      },
      codec_,
      [](void* opaque, std::int32_t micro_batch, std::size_t index) -> std::uint64_t {
        return static_cast<Context*>(opaque)->sample(micro_batch, index);
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

void PipelineGrid::post(std::vector<std::byte>&& bytes, int peer) {
  for (Post& post : posts_) {
    int done = 0;
    // throws before anything has moved, because a request has one owner
    check(goss_test(&post.request, &done, nullptr));
  }
  std::erase_if(posts_, [](const Post& post) { return post.request == nullptr; });
  Post& post = posts_.emplace_back(Post{std::move(bytes), nullptr});
  check(
      goss_send(pipeline_comm_, post.bytes.data(), post.bytes.size(), GOSS_UINT8, peer, kTag, nullptr, &post.request));
}

void PipelineGrid::waitPosts() {
  for (Post& post : posts_)
    check(goss_wait(&post.request, nullptr));
  posts_.clear();
}

void PipelineGrid::sumOverReplicas(std::span<double> values) {
  if (replicas_ == islands_) return;
  check(goss_all_reduce(replica_comm_, values.data(), values.data(), values.size(), GOSS_FLOAT64, GOSS_SUM, nullptr,
                        nullptr));
}

void PipelineGrid::sumOverReplicas(Buffer<float>& values, const Ops& ops) {
  if (replicas_ == islands_) return;
  std::vector<float> copy;
  if (!ops.isHostMemory()) copy = values.download();
  float* on_host = copy.empty() ? values.data() : copy.data();
  check(goss_all_reduce(replica_comm_, on_host, on_host, values.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
  if (!copy.empty()) values.upload(copy);
}

void PipelineGrid::sumOverPipeline(std::span<double> values) {
  check(goss_all_reduce(pipeline_comm_, values.data(), values.data(), values.size(), GOSS_FLOAT64, GOSS_SUM, nullptr,
                        nullptr));
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
  goss_comm_abort(across_comm_, reason.c_str());
}

} // namespace goss::trainer
