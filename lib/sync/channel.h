/// A synchronizer's own communicator, through which all its vectors reach other ranks.
#ifndef GOSS_LIB_SYNC_CHANNEL_H_
#define GOSS_LIB_SYNC_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/gossip.h"
#include "gossamer/status.h"
#include "gossamer/window.h"
#include "state/reference_store.h"
#include "sync/mailbox.h"

namespace goss::sync {

/// Arguments of a vector's exchange.
struct VectorExchange {
  std::span<float> values;  ///< In: this rank's. Out: the mean over the ranks, the same bits on all of them.
  std::uint64_t tensor = 0; ///< Names the vector for codecs that keep state; never 0.
};

/// Uses only the C ABI: a synchronizer can do nothing that a caller of the library could not. One thread, except
/// abort().
class Channel {
 public:
  /// Collective: a channel of all ranks of `comm`, with its own order of operations.
  static Result<std::unique_ptr<Channel>> duplicate(goss_comm_t comm);
  /// Collective: a channel of the ranks that give the same color, ordered by their rank in `comm`.
  static Result<std::unique_ptr<Channel>> split(goss_comm_t comm, std::int32_t color);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// For communicators that are made from the channel's, in the order of its collectives.
  [[nodiscard]] goss_comm_t communicator() const { return comm_; }
  /// Sets the codec ("none": float32) and the algorithm of startMean() ("": the planner's choice).
  void setCodec(const std::string& codec, const std::string& algorithm = {}) {
    codec_ = codec == "none" ? std::string() : codec;
    algorithm_ = algorithm;
  }

  /// Local, by all ranks: whether startMean() can run with the codec and the algorithm; nothing is sent.
  Status checkMean();
  /// Collective, not blocking: *request is later given to wait(); the values are lent until then.
  Status startMean(const VectorExchange& exchange, goss_request_t* request);
  /// Collective, not blocking, as startMean: every rank gets the bytes of all, in rank order.
  struct Gathering {
    std::span<const std::byte> mine; ///< As many bytes on every rank.
    std::span<std::byte> all;
    std::size_t meaning_bytes = 0; ///< Number of float32 bytes that `mine` stands for.
  };
  Status startGather(const Gathering& gathering, goss_request_t* request);
  /// Collective, blocking: `all`[rank] is what each rank passed. Not counted as an exchange.
  Status gather(double mine, std::span<double> all);
  /// Collective, blocking: the mean without a codec.
  Status mean(std::span<float> values);
  /// Collective, blocking: values = the neighborhood's weighted sum, with the codec.
  Status neighborSum(const VectorExchange& exchange, const goss_neighborhood& neighborhood);
  /// As neighborSum(), for one number in float64. Not counted as an exchange.
  Status neighborSum(double& value, const goss_neighborhood& neighborhood);
  /// Collective, not blocking, without the codec: *request is later given to wait(); the values are lent until then.
  Status startNeighborSum(std::span<float> values, const goss_neighborhood& neighborhood, goss_request_t* request);
  Status startNeighborSum(double& value, const goss_neighborhood& neighborhood, goss_request_t* request);
  /// Collective, blocking: `all` gets the bytes of each source, in the order of the neighborhood.
  Status neighborGather(const Gathering& gathering, const goss_neighborhood& neighborhood);
  /// Waits for a request that a start function has set. `counts`: the request counts as an exchange.
  Status wait(goss_request_t* request, bool counts = true);
  /// Local, never blocks: whether the request is over, which then is freed. Not counted as an exchange.
  static Result<bool> test(goss_request_t* request);
  /// Collective, blocking: a window over `memory`, which must outlive the channel.
  Status openWindow(std::span<float> memory, goss_window_t* window);
  Status openWindow(std::span<std::int64_t> memory, goss_window_t* window);
  /// Messages between single ranks of the channel; lasts as long as it.
  [[nodiscard]] Mailbox mailbox() const { return Mailbox(comm_); }
  /// Collective, blocking: returns when all ranks have called it.
  Status barrier();
  /// An exchange of so many bytes of float32 took place beside this channel's own.
  void countExchange(std::uint64_t bytes) {
    ++exchanges_;
    exchanged_bytes_ += bytes;
  }
  /// Collective: copies rank 0's values to every rank.
  Status broadcast(std::span<float> values);
  /// Local, while nothing is in flight: the codecs' state, for a checkpoint.
  Result<std::string> codecState() const;
  Status restoreCodecState(std::string_view bytes);
  /// Local: what encoding has lost of this rank's contributions to a vector, with the scale of VectorExchange::values.
  Status lostSoFar(std::uint64_t tensor, std::span<float> lost) const;
  /// Local, while nothing is in flight: sets lostSoFar() to zero. What encoding has lost of means stays.
  Status forgetLost(std::uint64_t tensor);
  /// Collective: true on every rank when all ranks gave the same value.
  Result<bool> allEqual(std::uint64_t value);
  /// Collective: GOSS_ERR_MISMATCH on every rank, naming two of them, when the states that they imported are of
  /// different steps.
  Status sameStep(std::uint64_t step);

  /// May be called from any thread.
  Status abort(const char* reason);
  [[nodiscard]] goss_counters counters() const;
  [[nodiscard]] std::uint64_t exchanges() const { return exchanges_; }
  [[nodiscard]] std::uint64_t exchangedBytes() const { return exchanged_bytes_; }
  [[nodiscard]] std::uint64_t waitedNs() const { return waited_ns_; }

 private:
  Channel(goss_comm_t comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}
  static Result<std::unique_ptr<Channel>> adopt(goss_comm_t comm);

  goss_comm_t comm_;
  int rank_;
  int size_;
  std::string codec_;
  std::string algorithm_;
  /// Losses that the ranks of another grid have left, equal on all ranks, of vectors that were not exchanged since.
  ReferenceStore owed_;
  std::uint64_t exchanges_ = 0;
  std::uint64_t exchanged_bytes_ = 0;
  std::uint64_t waited_ns_ = 0;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_CHANNEL_H_
