/// The exchange of a bucket of gradients between the backward pass and the optimizer.
#ifndef GOSS_LIB_SYNC_BUCKET_EXCHANGE_H_
#define GOSS_LIB_SYNC_BUCKET_EXCHANGE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "gossamer/codec.h"
#include "sync/channel.h"

namespace goss::sync {

/// Exchanges one bucket. Use per step: start, finish. One thread.
class BucketExchange {
 public:
  virtual ~BucketExchange() = default;
  /// Collective, not blocking. The gradient is lent until finish().
  virtual Status start(Channel& channel, std::span<float> gradient, double lr) = 0;
  /// Collective: replaces the gradient by the one that the optimizer is to see. Does nothing when start() was not
  /// called.
  virtual Status finish(Channel& channel, std::span<float> gradient) = 0;
  /// The state that a checkpoint keeps, between steps: a value for each element of the bucket, or nothing.
  virtual std::span<float> kept() { return {}; }
};

/// Exchanges the mean over the ranks.
class MeanExchange : public BucketExchange {
 public:
  /// `tensor` names the bucket for codecs; never 0.
  explicit MeanExchange(std::uint64_t tensor) : tensor_(tensor) {}
  Status start(Channel& channel, std::span<float> gradient, double lr) override;
  Status finish(Channel& channel, std::span<float> gradient) override;

 private:
  std::uint64_t tensor_;
  goss_request_t request_ = nullptr;
};

/// DeMo (Peng et al., arXiv 2411.19870): the fast components are subtracted from a rank's momentum and exchanged, and
/// the optimizer sees the signs of their mean:
///   momentum = decay * momentum + lr * gradient; payload = codec(momentum); momentum -= decoded(payload);
///   gradient = sign(mean of all ranks' payloads, over those that hold a component).
/// The payloads are all-gathered, as published, because an all-reduce could not compute their mean.
class SignExchange : public BucketExchange {
 public:
  /// `codec` must have a fixed size.
  SignExchange(std::size_t count, std::shared_ptr<const Codec> codec, double decay);
  Status start(Channel& channel, std::span<float> gradient, double lr) override;
  Status finish(Channel& channel, std::span<float> gradient) override;
  std::span<float> kept() override { return momentum_; }

 private:
  /// Scratch memory, aligned to 64 for codecs.
  std::span<std::byte> scratch();

  std::shared_ptr<const Codec> codec_;
  float decay_;
  std::vector<float> momentum_;
  std::vector<float> values_; // lr * gradient
  std::vector<std::byte> payload_;
  std::vector<std::byte> gathered_; // payloads of all ranks
  std::vector<std::byte> scratch_;
  goss_request_t request_ = nullptr;
  bool is_started_ = false;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_BUCKET_EXCHANGE_H_
