#include "pipeline/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <tuple>
#include <vector>

namespace goss::pipeline {

namespace {

using Kind = ActionKind;

constexpr std::int32_t kFirstTag = 1 << 30;
/// Receives that are posted before their turn, so that messages find their buffers when they arrive.
constexpr std::size_t kReceivesAhead = 8;

/// The transports copy whole cache lines, so buffers are aligned to them.
constexpr std::align_val_t kAlignment{64};
struct FreeAligned {
  void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
};
using Memory = std::unique_ptr<std::byte, FreeAligned>;

struct Transfer {
  Memory memory;
  goss_request_t request = nullptr;
};

/// The contents of a buffer: (is it an activation rather than a gradient, stage that needs it, micro-batch).
using Key = std::tuple<bool, int, int>;

class Runner {
 public:
  Runner(const Schedule& schedule, goss_comm_t comm, int rank, const RunnerWork& work)
      : s_(schedule),
        comm_(comm),
        rank_(rank),
        work_(work),
        places_(stagePlaces(schedule)),
        order_(schedule.per_rank[static_cast<std::size_t>(rank)]),
        samples_(work.codec != nullptr ? work.boundary_bytes / sizeof(float) / work.codec->sampleElems() : 0),
        buffer_bytes_(std::max({std::size_t{1}, work.boundary_bytes, messageBytes(true), messageBytes(false)})) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner() { waitForAll(); }

  Status run() {
    Status status = runActionsInMemory();
    if (!status.isOk()) {
      // The other ranks must not wait for messages that this rank will not send, and its own buffers must come back.
      goss_comm_abort(comm_, status.text().c_str());
      return status;
    }
    for (Transfer& sending : sending_) {
      const goss_status sent = goss_wait(&sending.request, nullptr);
      if (sent != GOSS_SUCCESS) return Status::error(sent, goss_last_error());
    }
    return failed_send_;
  }

 private:
  /// Running out of memory ends the run like any other error: the other ranks are told, because the destructor waits
  /// for them.
  Status runActionsInMemory() {
    try {
      return runActions();
    } catch (const std::bad_alloc&) {
      return Status::error(GOSS_ERR_RESOURCE, fmt::format("goss_pipeline_run: rank {} is out of memory", rank_));
    }
  }

  Status runActions() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (Status status = postReceives(i); !status.isOk()) return status;
      const Action& action = order_[i];
      if (isRecv(action.kind) && work_.codec == nullptr) continue;
      Status status = isRecv(action.kind) ? unpack(action) : isSend(action.kind) ? startSend(action) : compute(action);
      if (!status.isOk()) return status;
    }
    return Status::ok();
  }

  /// Posts all receives up to `position`, and some of those behind it.
  Status postReceives(std::size_t position) {
    for (; next_receive_ < order_.size(); ++next_receive_) {
      const Action& action = order_[next_receive_];
      if (!isRecv(action.kind)) continue;
      if (next_receive_ > position && arriving_.size() >= kReceivesAhead) break;
      const bool is_forward = action.kind == Kind::recvForward;
      const StagePlace& place = places_[action.stage];
      const int from = rankOf(is_forward ? place.previous : place.next);
      Transfer& transfer = arriving_[Key(is_forward, action.stage, action.micro_batch)];
      transfer.memory = takeMemory();
      const goss_status status = goss_recv(comm_, transfer.memory.get(), messageBytes(is_forward), GOSS_UINT8, from,
                                           tagOf(is_forward, action.stage), nullptr, &transfer.request);
      if (status != GOSS_SUCCESS) return Status::error(status, goss_last_error());
    }
    return Status::ok();
  }

  Status compute(const Action& action) {
    const StagePlace& place = places_[action.stage];
    const bool is_forward = action.kind == Kind::forward;
    const bool is_backward = action.kind == Kind::backward || action.kind == Kind::backwardInput;
    const int source = is_forward ? place.previous : is_backward ? place.next : -1;
    const int target = is_forward ? place.next : is_backward ? place.previous : -1;
    Transfer input;
    if (source >= 0) {
      if (Status status = takeInput(Key(is_forward, action.stage, action.micro_batch), input); !status.isOk()) {
        return status;
      }
    }
    Memory output = target >= 0 ? takeMemory() : nullptr;
    if (!work_.run(action, input.memory.get(), output.get())) {
      return Status::error(GOSS_ERR_ABORTED,
                           fmt::format("goss_pipeline_run: rank {} gave up at {}", rank_, toText(action)));
    }
    giveBack(std::move(input.memory));
    if (target >= 0) {
      auto& made = rankOf(target) == rank_ ? arriving_[Key(is_forward, target, action.micro_batch)]
                                           : leaving_[Key(is_forward, target, action.micro_batch)];
      made.memory = std::move(output);
    }
    return Status::ok();
  }

  /// Upper bound of a message's bytes.
  [[nodiscard]] std::size_t messageBytes(bool is_forward) const {
    return work_.codec != nullptr ? work_.codec->maxBytes(is_forward, samples_) : work_.boundary_bytes;
  }

  [[nodiscard]] std::vector<std::uint64_t> samplesOf(int micro_batch) const {
    std::vector<std::uint64_t> samples(samples_);
    for (std::size_t i = 0; i < samples_; ++i)
      samples[i] = work_.sample(micro_batch, i);
    return samples;
  }

  /// Decodes where the schedule has the receive, so that both ends see a boundary's messages in one order.
  Status unpack(const Action& action) {
    const bool is_forward = action.kind == Kind::recvForward;
    Transfer& transfer = arriving_.at(Key(is_forward, action.stage, action.micro_batch));
    goss_message message{};
    if (goss_status status = goss_wait(&transfer.request, &message); status != GOSS_SUCCESS) {
      return Status::error(status, goss_last_error());
    }
    Memory values = takeMemory();
    const std::vector<std::uint64_t> samples = samplesOf(action.micro_batch);
    // A boundary is named by its later stage, in both directions.
    const int boundary = is_forward ? action.stage : places_[action.stage].next;
    Status status = work_.codec->decode({is_forward, boundary, samples}, {transfer.memory.get(), message.bytes},
                                        reinterpret_cast<float*>(values.get()));
    std::swap(transfer.memory, values);
    giveBack(std::move(values));
    return status;
  }

  Status takeInput(const Key& key, Transfer& input) {
    const auto found = arriving_.find(key);
    if (found == arriving_.end()) return Status::error(GOSS_ERR_INTERNAL, "goss_pipeline_run: an input is missing");
    // Waits on the request inside the map, so that the destructor sees it whatever happens.
    const goss_status status = goss_wait(&found->second.request, nullptr);
    if (status != GOSS_SUCCESS) return Status::error(status, goss_last_error());
    input = std::move(found->second);
    arriving_.erase(found);
    return Status::ok();
  }

  Status startSend(const Action& action) {
    const bool is_forward = action.kind == Kind::sendForward;
    const StagePlace& place = places_[action.stage];
    const int target = is_forward ? place.next : place.previous;
    auto node = leaving_.extract(Key(is_forward, target, action.micro_batch));
    if (node.empty()) return Status::error(GOSS_ERR_INTERNAL, "goss_pipeline_run: an output is missing");
    std::size_t bytes = work_.boundary_bytes;
    if (work_.codec != nullptr) {
      if (Status status = pack(action, is_forward ? target : action.stage, node.mapped().memory, bytes);
          !status.isOk()) {
        return status;
      }
    }
    Transfer& transfer = sending_.emplace_back(std::move(node.mapped()));
    const goss_status status = goss_send(comm_, transfer.memory.get(), bytes, GOSS_UINT8, rankOf(target),
                                         tagOf(is_forward, target), nullptr, &transfer.request);
    return status == GOSS_SUCCESS ? Status::ok() : Status::error(status, goss_last_error());
  }

  Status pack(const Action& action, int boundary, Memory& memory, std::size_t& bytes) {
    Memory message = takeMemory();
    const std::vector<std::uint64_t> samples = samplesOf(action.micro_batch);
    const bool is_forward = action.kind == Kind::sendForward;
    Result<std::size_t> length =
        work_.codec->encode({is_forward, boundary, samples}, reinterpret_cast<const float*>(memory.get()),
                            {message.get(), messageBytes(is_forward)});
    if (!length.isOk()) return length.status();
    bytes = length.value();
    std::swap(memory, message);
    giveBack(std::move(message));
    return Status::ok();
  }

  /// Returns a free buffer, one whose send is complete, or a new one.
  Memory takeMemory() {
    std::size_t kept = 0;
    for (Transfer& sending : sending_) {
      int done = 0;
      const goss_status status = goss_test(&sending.request, &done, nullptr);
      if (status != GOSS_SUCCESS && failed_send_.isOk()) failed_send_ = Status::error(status, goss_last_error());
      if (sending.request == nullptr) {
        giveBack(std::move(sending.memory));
      } else {
        std::swap(sending_[kept++], sending);
      }
    }
    sending_.resize(kept);
    if (!free_.empty()) {
      Memory memory = std::move(free_.back());
      free_.pop_back();
      return memory;
    }
    return Memory(static_cast<std::byte*>(::operator new(buffer_bytes_, kAlignment)));
  }
  void giveBack(Memory memory) {
    if (memory) free_.push_back(std::move(memory));
  }

  void waitForAll() {
    for (auto& [key, transfer] : arriving_)
      goss_wait(&transfer.request, nullptr);
    for (Transfer& transfer : sending_)
      goss_wait(&transfer.request, nullptr);
  }

  [[nodiscard]] int rankOf(int stage) const { return s_.stage_rank[static_cast<std::size_t>(stage)]; }
  /// A tag for each receiving stage and direction: messages of one kind come in the order of their micro-batches'
  /// sends.
  static std::int32_t tagOf(bool is_forward, int stage) { return kFirstTag + 2 * stage + (is_forward ? 0 : 1); }

  const Schedule& s_;
  goss_comm_t comm_;
  int rank_;
  const RunnerWork& work_;
  std::vector<StagePlace> places_;
  const std::vector<Action>& order_;
  std::size_t samples_;      ///< Samples of a micro-batch; used with a codec.
  std::size_t buffer_bytes_; ///< Size of every buffer.
  std::size_t next_receive_ = 0;
  /// Data that is being received, or that a neighbour stage of this rank has computed.
  std::map<Key, Transfer> arriving_;
  std::map<Key, Transfer> leaving_; ///< Data that was computed but not sent yet.
  std::vector<Transfer> sending_;
  std::vector<Memory> free_;
  Status failed_send_; ///< Reported at the end; after a peer broke its receives report the error before.
};

} // namespace

Status run(const Schedule& schedule, goss_comm_t comm, const RunnerWork& work) {
  std::int32_t rank = 0;
  std::int32_t size = 0;
  if (goss_status status = goss_comm_rank(comm, &rank); status != GOSS_SUCCESS) {
    return Status::error(status, goss_last_error());
  }
  if (goss_status status = goss_comm_size(comm, &size); status != GOSS_SUCCESS) {
    return Status::error(status, goss_last_error());
  }
  if (size != schedule.ranks) {
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        fmt::format("goss_pipeline_run: the schedule has {} ranks, the communicator {}", schedule.ranks, size));
  }
  if (work.codec != nullptr && work.boundary_bytes % (work.codec->sampleElems() * sizeof(float)) != 0) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("goss_pipeline_run: {} bytes of a boundary are no whole samples of {} floats",
                                     work.boundary_bytes, work.codec->sampleElems()));
  }
  if (work.codec != nullptr && work.codec->isAbandoned()) {
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        "goss_pipeline_run: a run with this codec failed, so the ranks may remember different samples; "
        "make a new codec on every rank");
  }
  Status status = Runner(schedule, comm, rank, work).run();
  if (!status.isOk() && work.codec != nullptr) work.codec->abandon();
  return status;
}

} // namespace goss::pipeline
