/// A rank's part of averages with single other ranks, which happen whether or not it takes part in a call.
#ifndef GOSS_LIB_SYNC_PAIR_AVERAGES_H_
#define GOSS_LIB_SYNC_PAIR_AVERAGES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gossamer/window.h"
#include "sync/channel.h"

namespace goss::sync {

/// Vectors of this rank that other ranks change at any time, behind each other in a window. No rank needs another one
/// to be in a call. One thread.
class PairAverages {
 public:
  /// The channel outlives its use, but not the object: destroying the channel is what ends the lending of the memory.
  explicit PairAverages(Channel& channel) : channel_(channel) {}
  ~PairAverages();
  PairAverages(const PairAverages&) = delete;
  PairAverages& operator=(const PairAverages&) = delete;

  /// Collective, once, before all others: copies the vectors, which are equally long, and behind them the scalars.
  Status open(std::span<const std::vector<float>> vectors, std::span<const double> scalars);
  /// Local: `values` = the elements from the first on, as they are at one moment.
  Status read(std::span<float> values);
  /// Local: adds `change` to the elements from the first on.
  Status add(std::span<const float> change);

  struct Average {
    int partner = -1;
    double shadow_factor = 0;    ///< Above 0: the second vector moves by so many times as much as the first.
    std::int64_t timeout_ms = 0; ///< The patience; 0: the communicator's timeout, which is then an error.
  };
  /// Local: the first vector of this rank and of the partner become their mean, in the background. Does nothing while
  /// another average of this rank is under way.
  Status start(const Average& average);
  /// Local: whether the average that start() began is over; with `waits` blocks until it is. An average that was given
  /// up at its deadline, or whose partner has left, is over without having taken place.
  Result<bool> over(bool waits);
  /// Local: calls `change` with all vectors of `rank`, one after the other, and then the scalars. Blocks while another
  /// rank changes them; no other rank does so meanwhile.
  Status change(int rank, const std::function<void(std::span<float>)>& change);
  /// Local: adds `change` to all vectors and scalars of `rank`. False: the rank has left, and nothing was added.
  Result<bool> push(int rank, std::span<const float> change);
  /// Local: all vectors of `rank`, behind each other, as they are between two changes.
  Status readAt(int rank, std::span<float> values);
  /// Local: waits until this rank's average is over and its partners have their part of all averages of this rank.
  /// `timeout_ms`: for how long it waits for a partner; 0: the communicator's timeout. GOSS_ERR_TIMEOUT: a partner does
  /// not answer, but gets its part if it goes on; settle() may be called again.
  Status settle(std::int64_t timeout_ms = 0);
  /// The latest average waits so long for its partner; 0: the communicator's timeout.
  [[nodiscard]] std::int64_t patienceMs() const { return patience_ms_; }
  /// Whether the rank has destroyed its channel, as far as this one knows.
  [[nodiscard]] bool hasLeft(int rank) const { return left_[static_cast<std::size_t>(rank)]; }

 private:
  Result<bool> missed(const Status& why, int rank);

  Channel& channel_;
  std::vector<float> memory_;
  std::size_t count_ = 0; ///< Elements of a vector.
  goss_window_t window_ = nullptr;
  goss_request_t flying_ = nullptr;
  std::int64_t patience_ms_ = 0;
  int partner_ = -1;        ///< The rank with which flying_ averages.
  std::vector<bool> asked_; ///< By rank: it may lack its part of an average of this rank.
  std::vector<bool> left_;  ///< By rank: it has destroyed its channel.
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_PAIR_AVERAGES_H_
