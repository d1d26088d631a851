/// Exchanges gradients while the backward pass still computes the rest of them.
#ifndef GOSS_LIB_SYNC_GRADIENT_BUCKETS_H_
#define GOSS_LIB_SYNC_GRADIENT_BUCKETS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sync/bucket_exchange.h"
#include "sync/channel.h"
#include "sync/outer_state.h"

namespace goss::sync {

/// Whole tensors are packed into buckets in the reverse order of registration, which is about the order in which a
/// backward pass finishes them (Li et al., VLDB 2020, section 3.2.3). A bucket's exchange starts when all of it is
/// ready and all buckets before it have started, so that ranks which finish tensors in another order still start the
/// same exchanges in the same order. Tensors that are adjacent in memory are exchanged in place; others are copied. One
/// thread.
class GradientBuckets {
 public:
  /// `gradients` are in the order of registration and stay lent. `make` makes the exchange of a bucket from its
  /// elements and its number, which is never 0.
  using MakeExchange = std::function<std::unique_ptr<BucketExchange>(std::size_t count, std::uint64_t number)>;
  GradientBuckets(std::span<const std::span<float>> gradients, std::uint64_t bucket_bytes, const MakeExchange& make);

  /// Marks a tensor's gradient as final. Never blocks.
  Status ready(Channel& channel, std::size_t tensor, double lr);
  /// Whether ready() was called for the tensor in this step: its gradient may be in flight.
  [[nodiscard]] bool isReady(std::size_t tensor) const { return is_ready_[tensor]; }
  /// Treats missing gradients as ready and waits for all exchanges: gradients are then means, and the next step begins.
  Status finish(Channel& channel, double lr);
  /// Writes the state that a checkpoint keeps, between steps.
  void save(base::WireWriter& writer) const;
  /// False when the bytes do not belong to these buckets, which must then be discarded.
  bool load(base::WireReader& reader);
  /// load() of what ranks of another grid have saved; names[i] is that of tensor i. False as load().
  bool adopt(const OuterState& saved, std::span<const std::string> names);
  /// The numbers of each bucket's tensors, in the order of its elements.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> layout() const;
  [[nodiscard]] std::size_t buckets() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::vector<std::uint64_t> tensors_of; // their numbers, ascending
    std::vector<std::span<float>> pieces;  // lowest address first where they are adjacent
    std::vector<float> staging;            // empty: the exchange is in place
    std::span<float> flat;                 // the vector that is exchanged
    std::size_t missing = 0;
    std::size_t tensors = 0;
    std::unique_ptr<BucketExchange> exchange;
  };

  void close(Bucket& bucket);
  Status startReady(Channel& channel, double lr);

  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_; // by tensor
  std::vector<std::size_t> sizes_;     // by tensor, elements
  std::vector<bool> is_ready_;         // by tensor
  std::size_t started_ = 0;            // buckets started in this step
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_GRADIENT_BUCKETS_H_
