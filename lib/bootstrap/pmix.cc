#include "bootstrap/pmix.h"

#include <string_view>

#include "bootstrap/launcher_variables.h"

#ifdef GOSS_HAVE_PMIX
#include <fmt/format.h>
#include <pmix.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "platform/clock.h"
#include "platform/host.h"
#endif

namespace goss {

namespace {

Status cannotMeet(std::string_view why) { return launcherError("PMIx", why); }

} // namespace

#ifdef GOSS_HAVE_PMIX

namespace {

Status failed(const char* call, pmix_status_t status) {
  return cannotMeet(fmt::format("{} says {}", call, PMIx_Error_string(status)));
}

/// A call that PMIx answers on a thread of its own, perhaps after the caller has stopped waiting, and perhaps never.
/// The process keeps it until then, because PMIx reads and writes it.
class PendingCall {
 public:
  PendingCall(const pmix_proc_t& self, pmix_rank_t rank, std::string key) : process_(self), key_(std::move(key)) {
    process_.rank = rank;
  }

  /// PMIx answers when all processes of the job have made a fence.
  static pmix_status_t fence(const std::shared_ptr<PendingCall>& call) {
    std::strncpy(call->info_.key, PMIX_COLLECT_DATA, sizeof call->info_.key - 1);
    call->info_.value.type = PMIX_BOOL;
    call->info_.value.data.flag = true;
    return start(call, [&] { return PMIx_Fence_nb(&call->process_, 1, &call->info_, 1, takeStatus, call.get()); });
  }

  /// `limit_s` tells the server when nobody waits for the value any more.
  static pmix_status_t get(const std::shared_ptr<PendingCall>& call, int limit_s) {
    std::strncpy(call->info_.key, PMIX_TIMEOUT, sizeof call->info_.key - 1);
    call->info_.value.type = PMIX_INT;
    call->info_.value.data.integer = limit_s;
    return start(
        call, [&] { return PMIx_Get_nb(&call->process_, call->key_.c_str(), &call->info_, 1, takeValue, call.get()); });
  }

  /// nullopt: PMIx has not answered by then.
  std::optional<pmix_status_t> wait(platform::Deadline deadline) {
    constexpr std::int64_t kTurnMs = 60000;
    std::unique_lock lock(mutex_);
    while (!status_ && !deadline.expired())
      answered_.wait_for(lock, std::chrono::milliseconds(std::min(deadline.leftMs(), kTurnMs)));
    return status_;
  }

  /// What get() got; nullopt: something that is no unique id. Called after wait() has returned a status.
  [[nodiscard]] const std::optional<goss_unique_id>& id() const { return id_; }

 private:
  using Reference = std::shared_ptr<PendingCall>;

  /// The calls that PMIx has not answered. The mutex also orders what a caller has written before what PMIx's thread
  /// reads for tools, such as ThreadSanitizer, that see no synchronisation within PMIx.
  struct Unanswered {
    std::mutex mutex;
    std::map<const void*, Reference> calls;
  };

  static Unanswered& unanswered() {
    static auto& only = *new Unanswered; // PMIx's thread may answer while static objects are destroyed.
    return only;
  }

  /// `ask` makes the call.
  template <class Ask>
  static pmix_status_t start(const Reference& call, const Ask& ask) {
    {
      const std::lock_guard lock(unanswered().mutex);
      unanswered().calls.emplace(call.get(), call);
    }
    const pmix_status_t status = ask();
    if (status == PMIX_SUCCESS) return status;
    (void)takeOut(call.get());
    if (status != PMIX_OPERATION_SUCCEEDED) return status;
    call->answer(PMIX_SUCCESS, nullptr); // PMIx has done it already, and calls nobody back.
    return PMIX_SUCCESS;
  }

  static Reference takeOut(const void* call) {
    const std::lock_guard lock(unanswered().mutex);
    auto node = unanswered().calls.extract(call);
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  static void takeStatus(pmix_status_t status, void* call) { takeValue(status, nullptr, call); }

  static void takeValue(pmix_status_t status, pmix_value_t* value, void* call) {
    if (const Reference own = takeOut(call)) own->answer(status, value);
  }

  void answer(pmix_status_t status, const pmix_value_t* value) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    if (value != nullptr && value->type == PMIX_BYTE_OBJECT && value->data.bo.size == sizeof id_->bytes)
      std::memcpy(id_.emplace().bytes, value->data.bo.bytes, sizeof id_->bytes);
    answered_.notify_all();
  }

  pmix_proc_t process_;
  std::string key_;
  pmix_info_t info_{};
  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<pmix_status_t> status_; ///< Set when PMIx has answered.
  std::optional<goss_unique_id> id_;
};

/// How long the ranks wait for each other.
struct Limit {
  explicit Limit(std::int64_t span_ms)
      : ms(span_ms), deadline(platform::Deadline::after(std::chrono::milliseconds(span_ms))) {}
  [[nodiscard]] int leftSeconds() const {
    constexpr std::int64_t kMax = std::numeric_limits<int>::max();
    return static_cast<int>(std::clamp<std::int64_t>(deadline.leftMs() / 1000 + 1, 1, kMax));
  }

  std::int64_t ms;
  platform::Deadline deadline;
};

Status publish(const std::string& key, const goss_unique_id& id) {
  goss_unique_id copy = id;
  pmix_value_t value{};
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = copy.bytes;
  value.data.bo.size = sizeof copy.bytes;
  pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key.c_str(), &value);
  if (status != PMIX_SUCCESS) return failed("PMIx_Put", status);
  status = PMIx_Commit();
  return status == PMIX_SUCCESS ? Status::ok() : failed("PMIx_Commit", status);
}

Status fence(const pmix_proc_t& self, const Limit& limit) {
  const auto call = std::make_shared<PendingCall>(self, PMIX_RANK_WILDCARD, "");
  const pmix_status_t started = PendingCall::fence(call);
  if (started != PMIX_SUCCESS) return failed("PMIx_Fence_nb", started);
  const auto status = call->wait(limit.deadline);
  if (!status)
    return cannotMeet(
        fmt::format("not all processes of the job have come within {} ms (GOSS_BOOTSTRAP_TIMEOUT_MS)", limit.ms));
  return *status == PMIX_SUCCESS ? Status::ok() : failed("PMIx_Fence_nb", *status);
}

Result<goss_unique_id> fetch(const std::string& key, const pmix_proc_t& self, const Limit& limit) {
  const auto call = std::make_shared<PendingCall>(self, 0, key);
  const pmix_status_t started = PendingCall::get(call, limit.leftSeconds());
  if (started != PMIX_SUCCESS) return failed("PMIx_Get_nb", started);
  const auto status = call->wait(limit.deadline);
  if (!status || *status == PMIX_ERR_TIMEOUT)
    return cannotMeet(
        fmt::format("rank 0 has published no unique id within {} ms (GOSS_BOOTSTRAP_TIMEOUT_MS)", limit.ms));
  if (*status != PMIX_SUCCESS) return failed("PMIx_Get_nb", *status);
  if (!call->id()) return cannotMeet("rank 0 published something else");
  return *call->id();
}

/// This process's session with PMIx and the number of worlds met through it. PMIx counts its users, so MPI can use it
/// at the same time; but once the last user has finalised PMIx it cannot be initialised again (MPI_Init would fail), so
/// the session lasts until the process exits.
class PmixSession {
 public:
  /// The session of this process, which has one PMIx.
  static PmixSession& ofProcess() {
    static PmixSession session;
    return session;
  }

  /// Rank 0 publishes what `make` returns, and every rank gets it after the fence. One thread at a time.
  Result<goss_unique_id> exchange(int rank, std::int64_t timeout_ms,
                                  const std::function<Result<goss_unique_id>()>& make) {
    const std::lock_guard lock(mutex_);
    if (failed_) return cannotMeet("an earlier meeting failed half way");
    const Limit limit(timeout_ms);
    Status opened = open();
    if (!opened.isOk()) return opened;
    Status made;
    auto met = meet(rank, limit, make, made);
    failed_ = !met.isOk(); // The others may have passed the fence, or not: the next one could be another for them.
    if (!made.isOk()) return made;
    if (met.isOk() && met.value().bytes[0] == 0) return cannotMeet("rank 0 could not listen and has told why");
    return met;
  }

  PmixSession(const PmixSession&) = delete;
  PmixSession& operator=(const PmixSession&) = delete;

 private:
  PmixSession() = default;
  ~PmixSession() {
    // A forked child that exits must not finalize for its parent.
    if (owner_ == platform::processId()) PMIx_Finalize(nullptr, 0);
  }

  Status open() {
    if (owner_ != 0) return Status::ok();
    const pmix_status_t status = PMIx_Init(&self_, nullptr, 0);
    if (status != PMIX_SUCCESS) return failed("PMIx_Init", status);
    owner_ = platform::processId();
    return Status::ok();
  }

  /// `made`: the status of `make`, on rank 0. Where that fails the ranks get an id of zeros.
  Result<goss_unique_id> meet(int rank, const Limit& limit, const std::function<Result<goss_unique_id>()>& make,
                              Status& made) {
    // A key can be published once, so the worlds of one job use different keys; all ranks make the worlds in the same
    // order.
    const std::string key = fmt::format("gossamer.world.{}", worlds_++);
    Status published;
    if (rank == 0) {
      const auto id = make();
      made = id.status();
      published = publish(key, id.isOk() ? id.value() : goss_unique_id{});
    }
    // The other ranks wait in the fence whatever has happened here.
    Status fenced = fence(self_, limit);
    if (!published.isOk()) return published;
    if (!fenced.isOk()) return fenced;
    return fetch(key, self_, limit);
  }

  std::mutex mutex_;
  pmix_proc_t self_{};     ///< Written once, by open().
  std::int64_t owner_ = 0; ///< The process that called PMIx_Init; 0: none has.
  unsigned worlds_ = 0;
  bool failed_ = false;
};

} // namespace

Result<goss_unique_id> exchangeThroughPmix(int rank, std::int64_t timeout_ms,
                                           const std::function<Result<goss_unique_id>()>& make) {
  return PmixSession::ofProcess().exchange(rank, timeout_ms, make);
}

#else

Result<goss_unique_id> exchangeThroughPmix(int, std::int64_t, const std::function<Result<goss_unique_id>()>&) {
  return cannotMeet("this build of Gossamer has no PMIx (Debian's libpmix-dev at build time brings it)");
}

#endif

} // namespace goss
