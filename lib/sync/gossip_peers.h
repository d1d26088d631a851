/// How a rule reaches the neighbours of its topology, and all ranks.
#ifndef GOSS_LIB_SYNC_GOSSIP_PEERS_H_
#define GOSS_LIB_SYNC_GOSSIP_PEERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gossamer/codec.h"
#include "gossamer/gossip.h"
#include "sync/channel.h"
#include "sync/group_averages.h"
#include "sync/pair_averages.h"

namespace goss::sync {

/// Every call is collective over the channel's ranks and blocks, where nothing else is said. Outlives the channel. One
/// thread.
class GossipPeers {
 public:
  /// `topology` "": there is none. `codec` is null where vectors travel as they are. Errors: those of
  /// goss_topology_create and goss_topology_require for each of the properties.
  static Result<std::unique_ptr<GossipPeers>> make(Channel& channel, const std::string& topology,
                                                   std::span<const std::int32_t> properties,
                                                   std::shared_ptr<const Codec> codec);
  ~GossipPeers();
  GossipPeers(const GossipPeers&) = delete;
  GossipPeers& operator=(const GossipPeers&) = delete;

  [[nodiscard]] int rank() const { return channel_.rank(); }
  [[nodiscard]] int size() const { return channel_.size(); }
  /// Rounds after which the topology repeats.
  [[nodiscard]] std::uint64_t period() const { return period_; }

  /// values = row `rank` of the round's matrix times the ranks' values, with the synchronizer's codec. `order`: which
  /// rank is at each place of the topology; empty: each at its own.
  Status mix(std::span<float> values, std::uint64_t round, std::span<const int> order = {});
  /// As mix(), for one number, exact to float64.
  Status mixNumber(double& value, std::uint64_t round);
  /// Starts values = the ranks' values times row `rank` of the round's matrix, without a codec and without the rank's
  /// own entry, which it returns; and `number` likewise. Both are lent until arrive().
  Result<double> startPush(std::span<float> values, double& number, std::uint64_t round);
  /// Waits for what startPush() started, if anything.
  Status arrive();
  /// As mix() with one partner, which must name this rank as its partner: values = (values + the partner's) / 2. If
  /// `partner` is this rank, nothing is sent.
  Status meet(int partner, std::span<float> values);
  /// Encodes `values`. own = what they decode to; change = sum_j w_ij (q_j - q_i), where q_j is what rank j's values
  /// decode to. Differences that replicas follow are sent so: every rank adds the same bits. Changes are float64,
  /// because those of all ranks must sum to 0: what they miss of that stays in the mean and is added again in each
  /// round. `draw` numbers the encodings, for random streams.
  struct Encoded {
    std::span<const float> values;
    std::span<float> own;
    std::span<double> change;
    /// What the values decode to must come closer to them, as with error feedback: a codec that does not contract
    /// scales down. False: an unbiased codec stays unbiased.
    bool contracts = false;
  };
  Status mixEncoded(const Encoded& encoded, std::uint64_t round, std::uint64_t draw);
  /// As mixEncoded(), over all ranks: change = the mean of what the ranks' values decode to, with the same bits on all
  /// of them.
  Status meanEncoded(const Encoded& encoded, std::uint64_t draw);
  /// change = sum_j w_ij (values_j - values_i), without the codec.
  Status differences(std::span<const float> values, std::span<double> change, std::uint64_t round);
  /// For a rule that has shared vectors (Rule::Needs); its calls are local where they say so.
  [[nodiscard]] PairAverages& pairs() { return pairs_; }
  [[nodiscard]] GroupAverages& groups() { return groups_; }
  /// Local: the ranks to which `rank` sends in the round of the topology, or from which it receives, ascending.
  [[nodiscard]] Result<std::vector<int>> partners(std::uint64_t round, int rank) const;
  Result<bool> allEqual(std::uint64_t value) { return channel_.allEqual(value); }
  /// As Channel::sameStep().
  Status sameStep(std::uint64_t step) { return channel_.sameStep(step); }
  /// Local: the entry of the round's matrix.
  [[nodiscard]] Result<double> weight(std::uint64_t round, int to, int from) const;
  /// The largest of the ranks' values.
  Result<double> largest(double value);
  Status barrier() { return channel_.barrier(); }
  /// Mean over all ranks, the same bits on all; with the codec, or without. `other`: a vector of another meaning than
  /// the rule's first, whose error feedback is its own.
  Status mean(std::span<float> values, bool other = false);
  Status exactMean(std::span<float> values);
  /// `all` = the ranks' bytes in rank order. `meaning_bytes`: number of float32 bytes that `mine` stands for.
  Status gather(std::span<const std::byte> mine, std::span<std::byte> all, std::size_t meaning_bytes);
  /// The sum of the ranks' signs of `values`; 0 has the sign 0. Signs travel as bits; only where a rank has a 0, a
  /// second bit of each element tells zeros. Fails on all ranks, naming one whose values in this step are not finite.
  Status votes(std::span<const float> values, std::span<float> sum, std::uint64_t step);

 private:
  GossipPeers(Channel& channel, std::shared_ptr<const Codec> codec)
      : channel_(channel), pairs_(channel), groups_(channel), codec_(std::move(codec)) {}
  Result<goss_neighborhood> neighbors(std::uint64_t round, int place) const;
  Status encode(std::span<const float> values, std::uint64_t draw, bool contracts);
  Status decode(std::span<const std::byte> framed, std::uint64_t draw, std::span<float> values);
  std::span<std::byte> scratchFor(std::size_t count);
  /// Starts to gather a bit of each value into received_.
  Status gatherBits(std::span<const float> values, bool (*is_set)(float), std::size_t meaning_bytes,
                    goss_request_t* request);
  /// For each rank's bits in received_: adds `set` or `clear`.
  void addBits(std::span<float> sum, float set, float clear) const;

  Channel& channel_;
  PairAverages pairs_;
  GroupAverages groups_;
  std::shared_ptr<const Codec> codec_;
  goss_topology_t topology_ = nullptr;
  std::uint64_t period_ = 1;
  goss_request_t flying_ = nullptr;        ///< Requests of startPush: the values,
  goss_request_t flying_number_ = nullptr; ///< and the number.
  std::vector<std::byte> framed_;          ///< This rank's payload: its length in 8 bytes, and its bytes.
  std::vector<std::byte> received_;        ///< Payloads of the sources.
  std::vector<std::byte> scratch_;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_GOSSIP_PEERS_H_
