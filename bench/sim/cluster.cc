#include "bench/sim/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace goss::bench::sim {

Cluster::Cluster(Sites sites, ClusterOptions options, std::function<void(int)> body)
    : options_(options),
      network_(std::move(sites), options.seed),
      loop_(network_.sites().ranks(), std::move(body)),
      dead_(static_cast<std::size_t>(network_.sites().ranks())),
      jitter_(options.seed) {}

std::vector<int> Cluster::living() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(dead_.size()); ++rank)
    if (!isDead(rank)) ranks.push_back(rank);
  return ranks;
}

std::shared_ptr<Group> Cluster::makeGroup(std::vector<int> world_ranks, int sharing) {
  auto group = std::make_shared<Group>();
  group->spread.sharing = sharing;
  for (const int rank : world_ranks)
    ++group->spread.ranks_of_site[network_.sites().siteOf(rank)];
  group->inbox.resize(world_ranks.size());
  group->expecting.resize(world_ranks.size());
  group->world_ranks = std::move(world_ranks);
  std::erase_if(groups_, [](const std::weak_ptr<Group>& one) { return one.expired(); });
  groups_.push_back(group);
  return group;
}

std::uint64_t Cluster::scaled(std::uint64_t elements, std::uint64_t element_bytes) const {
  return static_cast<std::uint64_t>(static_cast<double>(elements * element_bytes) * options_.scale);
}

Result<std::shared_ptr<Operation>> Cluster::join(Group& group, std::uint64_t number, const Exchange& exchange,
                                                 const std::function<void(Operation&)>& contribute) {
  if (!group.failure.isOk()) return group.failure;
  std::shared_ptr<Operation>& known = group.pending[number];
  if (known == nullptr) {
    known = std::make_shared<Operation>();
    known->exchange = exchange;
    known->missing = static_cast<int>(group.world_ranks.size());
  }
  const std::shared_ptr<Operation> operation = known;
  if (operation->exchange != exchange)
    return Status::error(GOSS_ERR_MISMATCH, "the ranks have called different collectives");
  contribute(*operation);
  if (--operation->missing > 0) return operation;
  group.pending.erase(number);
  operation->last_s = loop_.now_s();
  priceAndFinish(group, *operation);
  return operation;
}

void Cluster::priceAndFinish(Group& group, Operation& operation) {
  if (!operation.colors.empty()) { // Communicators are made in no time.
    makeSplitGroups(group, operation);
    finish(operation, operation.last_s);
    return;
  }
  const Result<Cost> cost = network_.cost(group.spread, operation.exchange, draws_++);
  if (!cost.isOk()) operation.status = cost.status();
  const Cost paid = cost.isOk() ? cost.value() : Cost();
  const double start_s = std::max(operation.last_s, group.busy_until_s);
  group.busy_until_s = start_s + paid.busy_s;
  traffic_.bytes += paid.bytes;
  ++traffic_.exchanges;
  ++traffic_.plans[paid.plan];
  finish(operation, start_s + paid.time_s);
}

void Cluster::makeSplitGroups(const Group& group, Operation& operation) {
  std::map<std::int32_t, std::vector<int>> members;
  for (std::size_t rank = 0; rank < operation.colors.size(); ++rank)
    members[operation.colors[rank]].push_back(group.world_ranks[rank]);
  // New groups whose ranks lie in several sites share the port of each of those sites.
  std::map<int, int> leaving;
  const auto sitesOf = [&](const std::vector<int>& ranks) {
    std::set<int> sites;
    for (const int rank : ranks)
      sites.insert(network_.sites().siteOf(rank));
    return sites;
  };
  for (const auto& [color, ranks] : members) {
    const std::set<int> sites = sitesOf(ranks);
    for (const int site : sites)
      leaving[site] += sites.size() > 1 ? 1 : 0;
  }
  std::map<std::int32_t, std::shared_ptr<Group>> groups;
  for (auto& [color, ranks] : members) {
    int sharing = 1;
    for (const int site : sitesOf(ranks))
      sharing = std::max(sharing, leaving[site]);
    groups[color] = makeGroup(ranks, sharing);
  }
  for (const std::int32_t color : operation.colors)
    operation.groups.push_back(groups[color]);
}

void Cluster::finish(Operation& operation, double end_s) {
  operation.over = true;
  operation.end_s = end_s;
  for (const int rank : std::exchange(operation.waiting, {}))
    loop_.wake(rank, end_s);
}

void Cluster::post(Group& group, int to, Post post) {
  const int sender = group.world_ranks[static_cast<std::size_t>(post.from)];
  const int receiver = group.world_ranks[static_cast<std::size_t>(to)];
  const int site = network_.sites().siteOf(sender);
  const JitteryPrice link = network_.link(sender, receiver, group.spread.ranks_of_site.at(site) * group.spread.sharing);
  const double drawn_s = link.jitter_s * jitter_.unit();
  const double each_s = static_cast<double>(post.bytes) / link.price.bandwidth_bytes_per_s + link.price.overhead_s;
  post.arrival_s = loop_.now_s() + (post.nth + 1) * each_s + link.price.latency_s + drawn_s;
  traffic_.bytes += static_cast<double>(post.bytes);
  const auto at = static_cast<std::size_t>(to);
  const auto found = group.expecting[at].find(post.number);
  if (found == group.expecting[at].end()) {
    const std::pair key(post.from, post.number);
    group.inbox[at].emplace(key, std::move(post));
  } else if (found->second(post.from, post)) {
    group.expecting[at].erase(found);
  }
}

Status Cluster::wait(Operation& operation) {
  const int self = loop_.running();
  while (!operation.over && !isDead(self)) {
    operation.waiting.push_back(self);
    loop_.block();
  }
  if (isDead(self)) return Status::error(GOSS_ERR_PEER_LOST, "this rank has died");
  if (operation.end_s > loop_.now_s()) loop_.sleepUntil(operation.end_s);
  if (isDead(self)) return Status::error(GOSS_ERR_PEER_LOST, "this rank has died");
  return operation.status;
}

void Cluster::fail(Group& group, const Status& why) {
  if (!group.failure.isOk()) return;
  group.failure = why;
  for (auto& [number, operation] : std::exchange(group.pending, {})) {
    operation->status = why;
    finish(*operation, loop_.now_s());
  }
  for (auto& expecting : group.expecting) {
    for (auto& [number, deliver] : std::exchange(expecting, {}))
      deliver(-1, {});
  }
}

void Cluster::kill(int world_rank) {
  if (isDead(world_rank)) return;
  dead_[static_cast<std::size_t>(world_rank)] = true;
  loop_.wake(world_rank, loop_.now_s());
  loop_.at(loop_.now_s() + options_.silence_s, [this, world_rank] {
    const Status lost = Status::error(GOSS_ERR_PEER_LOST, fmt::format("rank {} is silent", world_rank),
                                      ErrorScope::communicator, world_rank);
    for (const std::weak_ptr<Group>& one : std::vector(groups_)) {
      const std::shared_ptr<Group> group = one.lock();
      if (group == nullptr) continue;
      const std::vector<int>& ranks = group->world_ranks;
      if (std::find(ranks.begin(), ranks.end(), world_rank) != ranks.end()) fail(*group, lost);
    }
  });
}

} // namespace goss::bench::sim
