/// The simulated communicators: what ranks have called, when it ends, and who has died.
#ifndef GOSS_BENCH_SIM_CLUSTER_H_
#define GOSS_BENCH_SIM_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/split_mix.h"
#include "bench/sim/event_loop.h"
#include "bench/sim/network.h"

namespace goss::bench::sim {

/// One collective of all ranks of a group, or one rank's exchange with its neighbours.
struct Operation {
  Exchange exchange;
  int missing = 0;                                        ///< Ranks, or sources, that have not called.
  double last_s = 0;                                      ///< When the last of them called, or its message arrives.
  double end_s = 0;                                       ///< Once nobody is missing.
  Status status;                                          ///< Once it is over: ok, or why it failed.
  std::vector<int> waiting;                               ///< World ranks that wait for it.
  std::vector<std::byte> result;                          ///< What every rank gets; grows as ranks call.
  std::vector<std::int32_t> colors = {};                  ///< By rank, of a split.
  std::vector<std::shared_ptr<struct Group>> groups = {}; ///< By rank, made by a split.
  bool over = false;
};

/// A message to a neighbour.
struct Post {
  int from = 0;             ///< Rank.
  std::uint64_t number = 0; ///< Number of the sender's call among its exchanges with neighbours.
  int nth = 0;              ///< Index among the messages of that call, which leave one after the other.
  std::uint64_t bytes = 0;  ///< On the wire.
  double weight = 1;        ///< The sender's factor.
  std::vector<std::byte> data;
  double arrival_s = 0; ///< Set by Cluster::post().
};

struct Group {
  std::vector<int> world_ranks; ///< By rank.
  Spread spread;
  std::map<std::uint64_t, std::shared_ptr<Operation>> pending; ///< By number; those that ranks have not all called.
  double busy_until_s = 0;                                     ///< When earlier operations leave the network free.
  Status failure;                                              ///< Not ok: every call fails.
  /// By receiver: posts that came before its call, by sender and number, and its pending operations by number.
  std::vector<std::map<std::pair<int, std::uint64_t>, Post>> inbox;
  std::vector<std::map<std::uint64_t, std::function<bool(int from, const Post& post)>>> expecting;
};

struct ClusterOptions {
  std::uint64_t seed = 1;
  double scale = 1;      ///< Parameters for which one element of a float32 vector stands.
  double silence_s = 10; ///< From a rank's death until the others know it.
};

/// Totals of a run.
struct Traffic {
  double bytes = 0;
  std::uint64_t exchanges = 0; ///< Collectives over vectors of parameters, and exchanges with neighbours.
  std::map<std::string, std::uint64_t> plans; ///< How often each plan ran.
};

/// All ranks' calls, in virtual time. One thread. Calls of a rank are made by its fiber.
class Cluster {
 public:
  Cluster(Sites sites, ClusterOptions options, std::function<void(int)> body);

  [[nodiscard]] EventLoop& loop() { return loop_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] const ClusterOptions& options() const { return options_; }
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  [[nodiscard]] bool isDead(int world_rank) const { return dead_[static_cast<std::size_t>(world_rank)]; }
  [[nodiscard]] std::vector<int> living() const;

  /// A communicator of these world ranks, of which `sharing` like it use the ports of sites at once.
  std::shared_ptr<Group> makeGroup(std::vector<int> world_ranks, int sharing = 1);
  /// The operation with this number, which the calling rank joins; `contribute` adds to it. Errors: the group's
  /// failure.
  Result<std::shared_ptr<Operation>> join(Group& group, std::uint64_t number, const Exchange& exchange,
                                          const std::function<void(Operation&)>& contribute);
  /// Sends a message to rank `to`, whose operation it may complete.
  void post(Group& group, int to, Post post);
  /// The bytes on the wire, for `elements` of the vectors at this element size.
  [[nodiscard]] std::uint64_t scaled(std::uint64_t elements, std::uint64_t element_bytes) const;
  /// Blocks until it is over.
  Status wait(Operation& operation);
  void fail(Group& group, const Status& why);
  void finish(Operation& operation, double end_s);

  /// `world_rank` dies now: the others know it options().silence_s later. Outside of ranks.
  void kill(int world_rank);

 private:
  void priceAndFinish(Group& group, Operation& operation);
  void makeSplitGroups(const Group& group, Operation& operation);

  ClusterOptions options_;
  Network network_;
  EventLoop loop_;
  std::vector<bool> dead_;
  std::vector<std::weak_ptr<Group>> groups_;
  Traffic traffic_;
  base::SplitMix64 jitter_;
  std::uint64_t draws_ = 0;
};

} // namespace goss::bench::sim

#endif // GOSS_BENCH_SIM_CLUSTER_H_
