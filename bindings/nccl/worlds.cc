#include "bindings/nccl/worlds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bindings/nccl/errors.h"
#include "bindings/nccl/settings.h"

namespace goss::nccl {

namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(goss_unique_id));

struct Tls {
  std::mutex mutex;
  std::string setting;
};

Tls& tls() {
  static Tls& only = *new Tls;
  return only;
}

Result<goss_comm_t> made(goss_status status, goss_comm_t comm) {
  if (status != GOSS_SUCCESS) return lastFailure(status);
  return comm;
}

/// The first survivor makes an id and sends it to the others.
Result<goss_comm_t> meetSurvivors(ncclComm& parent, const std::vector<int>& survivors, Turn& turn) {
  const auto place = std::find(survivors.begin(), survivors.end(), parent.rank.load());
  const int rank = static_cast<int>(place - survivors.begin());
  goss_unique_id id{};
  goss_status status = GOSS_SUCCESS;
  if (rank > 0) {
    status = goss_recv(parent.comm, &id, sizeof id, GOSS_UINT8, survivors[0], kOwnTag, nullptr, nullptr);
  } else {
    status = goss_unique_id_create(&id);
    for (std::size_t i = 1; i < survivors.size() && status == GOSS_SUCCESS; ++i)
      status = goss_send(parent.comm, &id, sizeof id, GOSS_UINT8, survivors[i], kOwnTag, nullptr, nullptr);
  }
  if (status != GOSS_SUCCESS)
    return Status::error(status,
                         "ncclCommShrink: the survivors cannot tell each other how to "
                         "meet; use NCCL_SHRINK_ABORT once a rank has failed");
  turn.end();
  ncclUniqueId same{};
  std::memcpy(&same, &id, sizeof same);
  return meet(same, rank, static_cast<int>(survivors.size()));
}

Result<goss_comm_t> agree(ncclComm& parent, std::size_t survivors) {
  goss_comm_t comm = nullptr;
  if (const goss_status status = goss_comm_shrink(parent.comm, nullptr, &comm); status != GOSS_SUCCESS)
    return lastFailure(status);
  std::int32_t size = 0;
  goss_comm_size(comm, &size);
  if (static_cast<std::size_t>(size) == survivors) return comm;
  goss_comm_destroy(comm);
  return invalid(
      fmt::format("ncclCommShrink: {} ranks are left, and the list of excluded ranks leaves {}", size, survivors));
}

/// Ranks in a world whose first rank must be `root`, and back.
int rotated(int rank, int root) { return rank == root ? 0 : rank < root ? rank + 1 : rank; }

/// The world begins with the rank that made the id; its communicators have the program's numbers.
Result<goss_comm_t> meetFrom(const ncclUniqueId& id, int rank, int ranks, int place) {
  auto world = meet(id, place, ranks);
  if (!world.isOk()) return world;
  goss_comm_t comm = nullptr;
  const goss_status status = goss_comm_split(world.value(), 0, rank, &comm);
  auto result = made(status, comm);
  goss_comm_destroy(world.value());
  return result;
}

} // namespace

void setTls(const std::string& setting) {
  const std::lock_guard lock(tls().mutex);
  tls().setting = setting;
}

Result<goss_comm_t> meet(const ncclUniqueId& id, int rank, int ranks) {
  goss_config config;
  if (const goss_status status = goss_config_init(&config); status != GOSS_SUCCESS) return lastFailure(status);
  goss_unique_id same{};
  std::memcpy(&same, &id, sizeof same);
  config.rank = rank;
  config.ranks = ranks;
  config.unique_id = &same;
  config.device = "cuda";
  config.timeout_ms = timeoutMs();
  std::string secret;
  {
    const std::lock_guard lock(tls().mutex);
    secret = tls().setting;
  }
  if (!secret.empty()) config.tls = secret.c_str();
  goss_comm_t comm = nullptr;
  const goss_status status = goss_comm_create(&config, &comm);
  return made(status, comm);
}

Result<goss_comm_t> split(ncclComm& parent, int color, int key) {
  goss_comm_t comm = nullptr;
  const goss_status status = goss_comm_split(parent.comm, color, key, &comm);
  return made(status, comm);
}

Result<goss_comm_t> shrink(ncclComm& parent, const std::vector<int>& excluded, bool failed, Turn& turn) {
  std::vector<int> survivors;
  for (int rank = 0; rank < parent.ranks; ++rank)
    if (std::find(excluded.begin(), excluded.end(), rank) == excluded.end()) survivors.push_back(rank);
  return failed ? agree(parent, survivors.size()) : meetSurvivors(parent, survivors, turn);
}

Result<goss_comm_t> grow(ncclComm& parent, int ranks, const ncclUniqueId* id, Turn& turn) {
  struct Offer {
    char given;
    ncclUniqueId id;
  };
  Offer mine{};
  if (id != nullptr) mine = {1, *id};
  std::vector<Offer> offers(static_cast<std::size_t>(parent.ranks));
  const goss_status status =
      goss_all_gather(parent.comm, &mine, offers.data(), sizeof mine, GOSS_UINT8, nullptr, nullptr);
  if (status != GOSS_SUCCESS) return lastFailure(status);
  turn.end();
  const auto root = std::find_if(offers.begin(), offers.end(), [](const Offer& offer) { return offer.given == 1; });
  if (root == offers.end())
    return invalid("ncclCommGrow: no rank gave an id; one of them calls ncclCommGetUniqueId and gives it");
  return meetFrom(root->id, parent.rank, ranks, rotated(parent.rank, static_cast<int>(root - offers.begin())));
}

Result<goss_comm_t> join(const ncclUniqueId& id, int rank, int ranks) { return meetFrom(id, rank, ranks, rank); }

} // namespace goss::nccl
