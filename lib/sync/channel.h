/// A communicator of a synchronizer's own, and the one way in which its vectors reach other ranks.
#ifndef GOSS_LIB_SYNC_CHANNEL_H_
#define GOSS_LIB_SYNC_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/status.h"

namespace goss::sync {

/// What a vector's exchange needs to know beside its elements.
struct VectorExchange {
  std::span<float> values;  ///< In: this rank's. Out: the mean over the ranks, the same bits on all of them.
  std::uint64_t tensor = 0; ///< Names the vector for codecs that keep state; never 0.
};

/// The ranks exchange through the C ABI alone: a synchronizer can do nothing that a caller of the library could not.
/// One thread, except abort().
class Channel {
 public:
  /// Collective: all ranks of `comm`, apart from its order of operations.
  static Result<std::unique_ptr<Channel>> duplicate(goss_comm_t comm);
  /// Collective: the ranks that give the same color, ordered by their rank in `comm`.
  static Result<std::unique_ptr<Channel>> split(goss_comm_t comm, std::int32_t color);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// "none": float32.
  void setCodec(const std::string& codec) { codec_ = codec == "none" ? std::string() : codec; }

  /// Collective, not blocking: *request is later given to wait(); the values are lent until then.
  Status startMean(const VectorExchange& parcel, goss_request_t* request);
  /// Collective, not blocking, as startMean: every rank gets the bytes of all, in rank order.
  struct Gathering {
    std::span<const std::byte> mine; ///< As many on every rank.
    std::span<std::byte> all;
    std::size_t meaning_bytes = 0; ///< Float32 bytes that `mine` stands for.
  };
  Status startGather(const Gathering& gathering, goss_request_t* request);
  /// Collective, blocking: `all`[rank] is what each rank gave. Not counted as an exchange.
  Status gather(double mine, std::span<double> all);
  /// The mean without a codec, blocking.
  Status mean(std::span<float> values);
  Status wait(goss_request_t* request);
  /// Collective: rank 0's values on every rank.
  Status broadcast(std::span<float> values);
  /// Local, while nothing is in flight: what codecs keep, for a checkpoint.
  Result<std::string> codecState() const;
  Status restoreCodecState(std::string_view bytes);
  /// Local: what encoding has lost of this rank's contributions to a vector, in the units of VectorExchange::values.
  Status lostSoFar(std::uint64_t tensor, std::span<float> lost) const;
  /// Local, while nothing is in flight: that is zero from now on. What is lost of means stays.
  Status forgetLost(std::uint64_t tensor);
  /// Collective: true on every rank when all ranks gave the same value.
  Result<bool> allEqual(std::uint64_t value);

  /// From any thread.
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
  std::uint64_t exchanges_ = 0;
  std::uint64_t exchanged_bytes_ = 0;
  std::uint64_t waited_ns_ = 0;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_CHANNEL_H_
