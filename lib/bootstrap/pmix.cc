#include "bootstrap/pmix.h"

#include <string_view>

#include "bootstrap/launcher_variables.h"

#ifdef GOSS_HAVE_PMIX
#include <fmt/format.h>
#include <pmix.h>

#include <cstring>
#include <mutex>
#include <string>

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

  Status open() {
    const std::lock_guard lock(mutex_);
    if (owner_ != 0) return Status::ok();
    const pmix_status_t status = PMIx_Init(&self_, nullptr, 0);
    if (status != PMIX_SUCCESS) return failed("PMIx_Init", status);
    owner_ = platform::processId();
    return Status::ok();
  }

  /// A key can be published once, so the worlds of one job use different keys; all ranks make the worlds in the same
  /// order.
  std::string nextKey() {
    const std::lock_guard lock(mutex_);
    return fmt::format("gossamer.world.{}", worlds_++);
  }

  [[nodiscard]] const pmix_proc_t& self() const { return self_; }

  PmixSession(const PmixSession&) = delete;
  PmixSession& operator=(const PmixSession&) = delete;

 private:
  PmixSession() = default;
  ~PmixSession() {
    // A forked child that exits must not finalize for its parent.
    if (owner_ == platform::processId()) PMIx_Finalize(nullptr, 0);
  }

  std::mutex mutex_;
  pmix_proc_t self_{};     ///< Written once, by open().
  std::int64_t owner_ = 0; ///< The process that called PMIx_Init; 0: none has.
  unsigned worlds_ = 0;
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

Status fence(const pmix_proc_t& self) {
  pmix_proc_t everyone = self;
  everyone.rank = PMIX_RANK_WILDCARD;
  pmix_info_t info{};
  std::strncpy(info.key, PMIX_COLLECT_DATA, sizeof info.key - 1);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  const pmix_status_t status = PMIx_Fence(&everyone, 1, &info, 1);
  return status == PMIX_SUCCESS ? Status::ok() : failed("PMIx_Fence", status);
}

Result<goss_unique_id> fetch(const std::string& key, const pmix_proc_t& self) {
  pmix_proc_t root = self;
  root.rank = 0;
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&root, key.c_str(), nullptr, 0, &value);
  if (status != PMIX_SUCCESS) return failed("PMIx_Get", status);
  goss_unique_id id;
  const bool fits = value->type == PMIX_BYTE_OBJECT && value->data.bo.size == sizeof id.bytes;
  if (fits) std::memcpy(id.bytes, value->data.bo.bytes, sizeof id.bytes);
  PMIX_VALUE_RELEASE(value);
  if (!fits) return cannotMeet("rank 0 published something else");
  return id;
}

} // namespace

Result<goss_unique_id> exchangeThroughPmix(int rank, const std::function<Result<goss_unique_id>()>& make) {
  PmixSession& session = PmixSession::ofProcess();
  Status opened = session.open();
  if (!opened.isOk()) return opened;
  const std::string key = session.nextKey();
  Status made;
  if (rank == 0) {
    const auto id = make();
    made = id.status();
    // The other ranks wait in the fence whatever happens here: an id of zeros tells them that there is none.
    Status published = publish(key, id.isOk() ? id.value() : goss_unique_id{});
    if (!published.isOk()) return published;
  }
  Status fenced = fence(session.self());
  if (!made.isOk()) return made;
  if (!fenced.isOk()) return fenced;
  auto id = fetch(key, session.self());
  if (id.isOk() && id.value().bytes[0] == 0) return cannotMeet("rank 0 could not listen and has told why");
  return id;
}

#else

Result<goss_unique_id> exchangeThroughPmix(int, const std::function<Result<goss_unique_id>()>&) {
  return cannotMeet("this build of Gossamer has no PMIx (Debian's libpmix-dev at build time brings it)");
}

#endif

} // namespace goss
