#include "bindings/mpi/communicator.h"

#include <algorithm>
#include <mutex>

#include "bindings/mpi/errors.h"
#include "bindings/mpi/progress.h"
#include "bindings/mpi/real.h"
#include "bindings/mpi/settings.h"

namespace goss::interposer {

namespace {

/// The longest timeout that goss_config takes, for programs that expect MPI to wait for ever.
constexpr std::int64_t kForeverMs = 1000000000000;

/// A waiting rank spins this long, as MPI's ranks do. Gossamer's default is shorter than what some programs compute
/// between collectives: then all ranks but the last would sleep, and would have to be woken.
constexpr std::int32_t kSpinUs = 1000000;

constexpr const char* kAlone = "one rank alone";

/// The communicators that MPI_Finalize may have to close.
struct OpenCommunicators {
  std::mutex mutex;
  std::atomic<bool> are_closed{false};
  std::vector<std::weak_ptr<Communicator>> all;
};

OpenCommunicators& openCommunicators() {
  static OpenCommunicators& only = *new OpenCommunicators;
  return only;
}

std::shared_ptr<Communicator> keep(MPI_Comm mpi, goss_comm_t goss) {
  auto made = std::make_shared<Communicator>(mpi, goss);
  const std::lock_guard lock(openCommunicators().mutex);
  std::erase_if(openCommunicators().all, [](const std::weak_ptr<Communicator>& each) { return each.expired(); });
  openCommunicators().all.push_back(made);
  return made;
}

/// The value of the attribute of an MPI communicator.
struct Cached {
  std::shared_ptr<Communicator> communicator;
  std::string reason;
};

int deleteCached(MPI_Comm, int, void* value, void*) {
  freedCommunicators().add();
  auto* cached = static_cast<Cached*>(value);
  if (cached->communicator != nullptr) cached->communicator->setFreed();
  delete cached;
  return MPI_SUCCESS;
}

int key() {
  static const int only = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleteCached, &made, nullptr);
    return made;
  }();
  return only;
}

Found cache(MPI_Comm comm, std::shared_ptr<Communicator> communicator, const std::string& reason) {
  PMPI_Comm_set_attr(comm, key(), new Cached{communicator, reason});
  return {std::move(communicator), reason, MPI_SUCCESS};
}

int allReduceMinimum(const int* mine, int* minimum, int count, MPI_Comm comm) {
  static const Real<decltype(MPI_Allreduce)> real("PMPI_Allreduce");
  return real(mine, minimum, count, MPI_INT, MPI_MIN, comm);
}

Found meet(MPI_Comm comm);

/// Collective over `comm`. Each rank has tried to make `goss`; all keep theirs if no rank has failed. `may_meet`: where
/// resources were short, the ranks then meet(), for a world gives each communicator a number that it never gives again.
Found agree(MPI_Comm comm, const Outcome& outcome, goss_comm_t goss, bool may_meet = false) {
  std::shared_ptr<Communicator> made;
  if (outcome.status == GOSS_SUCCESS) made = keep(comm, goss);
  const int mine[2] = {static_cast<int>(outcome.status), made != nullptr && made->hasPlainNeighbors() ? 1 : 0};
  int minimum[2] = {0, 0};
  if (const int failed = allReduceMinimum(mine, minimum, 2, comm); failed != MPI_SUCCESS) return {nullptr, "", failed};
  if (minimum[0] == GOSS_SUCCESS) {
    made->serves_neighbors = minimum[1] == 1;
    return cache(comm, made, "");
  }
  if (minimum[0] == GOSS_ERR_RESOURCE && may_meet) {
    made.reset();
    return meet(comm);
  }
  if (minimum[0] == GOSS_ERR_RESOURCE && !settings().is_encrypted)
    return cache(comm, nullptr, "Gossamer has no resources for another communicator");
  const std::string text = outcome.status != GOSS_SUCCESS ? outcome.text : "another rank could not set up Gossamer";
  return {nullptr, "", raise(comm, static_cast<goss_status>(minimum[0]), text)};
}

goss_status configOf(int rank, int ranks, goss_config& config) {
  const goss_status status = goss_config_init(&config);
  config.rank = rank;
  config.ranks = ranks;
  if (!settings().has_timeout) config.timeout_ms = kForeverMs;
  if (!settings().has_spin && !settings().shares_processors) config.spin_us = kSpinUs;
  return status;
}

/// Collective over `comm`: makes a Gossamer communicator for ranks that have none in common.
Found meet(MPI_Comm comm) {
  int rank = 0;
  int ranks = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  static const Real<decltype(MPI_Bcast)> broadcast("PMPI_Bcast");
  goss_config config;
  goss_unique_id id{};
  goss_comm_t goss = nullptr;
  Outcome outcome = outcomeOf(configOf(rank, ranks, config));
  if (outcome.status == GOSS_SUCCESS && rank == 0) outcome = outcomeOf(goss_unique_id_create_with(&config, &id));
  const int mine = outcome.status;
  int minimum = 0;
  if (const int failed = allReduceMinimum(&mine, &minimum, 1, comm); failed != MPI_SUCCESS)
    return {nullptr, "", failed};
  if (minimum != GOSS_SUCCESS) {
    if (mine == GOSS_SUCCESS && rank == 0) goss_unique_id_destroy(&id);
    return agree(comm, outcome, nullptr);
  }
  if (const int failed = broadcast(id.bytes, static_cast<int>(sizeof id.bytes), MPI_BYTE, 0, comm);
      failed != MPI_SUCCESS)
    return {nullptr, "", failed};
  config.unique_id = &id;
  {
    const BlockedCallGuard guard;
    outcome = outcomeOf(goss_comm_create(&config, &goss));
  }
  if (outcome.status != GOSS_SUCCESS && rank == 0) goss_unique_id_destroy(&id);
  return agree(comm, outcome, goss);
}

Found make(MPI_Comm comm) {
  if (settings().is_over_mpi) return cache(comm, nullptr, "GOSS_TRANSPORT=mpi, which needs MPI's collectives itself");
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  if (is_inter != 0) return cache(comm, nullptr, "inter-communicator");
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  return ranks == 1 ? cache(comm, nullptr, kAlone) : meet(comm);
}

/// The arguments of a split of `parent` that gives the ranks of `made`, in their order.
void positionIn(MPI_Comm parent, MPI_Comm made, int& color, int& rank) {
  MPI_Group parents = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  PMPI_Comm_group(parent, &parents);
  PMPI_Comm_group(made, &members);
  const int first = 0;
  PMPI_Group_translate_ranks(members, 1, &first, parents, &color);
  PMPI_Comm_rank(made, &rank);
  PMPI_Group_free(&parents);
  PMPI_Group_free(&members);
}

} // namespace

Communicator::Communicator(MPI_Comm mpi, goss_comm_t goss) : mpi_(mpi), goss_(goss) {
  PMPI_Comm_rank(mpi, &rank_);
  PMPI_Comm_size(mpi, &ranks_);
  readTopology();
}

Communicator::~Communicator() { close(); }

void Communicator::close() { goss_comm_destroy(goss_.exchange(nullptr)); }

void Communicator::readTopology() {
  int kind = MPI_UNDEFINED;
  PMPI_Topo_test(mpi_, &kind);
  has_topology_ = kind != MPI_UNDEFINED;
  if (kind == MPI_CART) {
    int dimensions = 0;
    PMPI_Cartdim_get(mpi_, &dimensions);
    for (int each = 0; each < dimensions; ++each) {
      int below = MPI_PROC_NULL;
      int above = MPI_PROC_NULL;
      PMPI_Cart_shift(mpi_, each, 1, &below, &above);
      sources_.insert(sources_.end(), {below, above});
    }
    destinations_ = sources_;
  } else if (kind == MPI_GRAPH) {
    int neighbors = 0;
    PMPI_Graph_neighbors_count(mpi_, rank_, &neighbors);
    sources_.resize(static_cast<std::size_t>(neighbors));
    PMPI_Graph_neighbors(mpi_, rank_, neighbors, sources_.data());
    destinations_ = sources_;
  } else if (kind == MPI_DIST_GRAPH) {
    int in = 0;
    int out = 0;
    int has_weights = 0;
    PMPI_Dist_graph_neighbors_count(mpi_, &in, &out, &has_weights);
    sources_.resize(static_cast<std::size_t>(in));
    destinations_.resize(static_cast<std::size_t>(out));
    std::vector<int> in_weights(sources_.size());
    std::vector<int> out_weights(destinations_.size());
    PMPI_Dist_graph_neighbors(mpi_, in, sources_.data(), in_weights.data(), out, destinations_.data(),
                              out_weights.data());
  }
}

bool Communicator::hasPlainNeighbors() const {
  const auto arePlain = [this](std::vector<int> list) {
    std::erase(list, MPI_PROC_NULL);
    std::sort(list.begin(), list.end());
    return std::adjacent_find(list.begin(), list.end()) == list.end() &&
           !std::binary_search(list.begin(), list.end(), rank_);
  };
  return has_topology_ && arePlain(sources_) && arePlain(destinations_);
}

FreedCounter& freedCommunicators() {
  static FreedCounter only;
  return only;
}

Found find(MPI_Comm comm, bool may_make) {
  if (comm == MPI_COMM_NULL) return {nullptr, "no communicator", MPI_SUCCESS};
  // Functions of the program that MPI_Finalize calls may communicate.
  if (openCommunicators().are_closed) return {nullptr, "MPI_Finalize has begun", MPI_SUCCESS};
  thread_local LastLookup<MPI_Comm, const Cached*> last;
  if (const Cached* const* seen = last.find(comm, freedCommunicators()); seen != nullptr)
    return {(*seen)->communicator, (*seen)->reason, MPI_SUCCESS};
  const std::uint64_t freed = freedCommunicators().count();
  void* value = nullptr;
  int is_cached = 0;
  if (PMPI_Comm_get_attr(comm, key(), &value, &is_cached) != MPI_SUCCESS) return {nullptr, "no communicator"};
  if (is_cached != 0) {
    const auto* cached = static_cast<const Cached*>(value);
    last.set(comm, freed, cached);
    return {cached->communicator, cached->reason, MPI_SUCCESS};
  }
  return may_make ? make(comm) : Found{nullptr, "no blocking collective on this communicator yet", MPI_SUCCESS};
}

int adopt(MPI_Comm parent, MPI_Comm made) {
  const Found found = find(parent, false);
  if (found.communicator == nullptr) return MPI_SUCCESS;
  int color = -1;
  int rank = 0;
  int ranks = 0;
  if (made != MPI_COMM_NULL) PMPI_Comm_size(made, &ranks);
  if (ranks > 1) positionIn(parent, made, color, rank);
  goss_comm_t goss = nullptr;
  Outcome outcome;
  {
    const BlockedCallGuard guard;
    outcome = outcomeOf(goss_comm_split(found.communicator->goss(), color, rank, &goss));
  }
  if (ranks == 1) cache(made, nullptr, kAlone);
  return ranks > 1 ? agree(made, outcome, goss, true).error : MPI_SUCCESS;
}

Found duplicate(const std::shared_ptr<Communicator>& original) {
  goss_comm_t goss = nullptr;
  Outcome outcome;
  {
    const BlockedCallGuard guard;
    outcome = outcomeOf(goss_comm_dup(original->goss(), &goss));
  }
  const int mine = outcome.status;
  int minimum = 0;
  if (const int failed = allReduceMinimum(&mine, &minimum, 1, original->mpi()); failed != MPI_SUCCESS)
    return {nullptr, "", failed};
  if (minimum == GOSS_SUCCESS) {
    auto made = keep(original->mpi(), goss);
    made->serves_neighbors = original->serves_neighbors;
    return {std::move(made), "", MPI_SUCCESS};
  }
  goss_comm_destroy(goss);
  if (minimum == GOSS_ERR_RESOURCE && !settings().is_encrypted)
    return {nullptr, "Gossamer has no resources for another communicator", MPI_SUCCESS};
  return {nullptr, "", raise(original->mpi(), static_cast<goss_status>(minimum), outcome.text)};
}

void closeAll() {
  openCommunicators().are_closed = true;
  const std::lock_guard lock(openCommunicators().mutex);
  for (const std::weak_ptr<Communicator>& each : openCommunicators().all)
    if (const auto communicator = each.lock()) communicator->close();
  openCommunicators().all.clear();
}

} // namespace goss::interposer
