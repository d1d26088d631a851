#include "sync/gradient_buckets.h"

#include <algorithm>

namespace goss::sync {

GradientBuckets::GradientBuckets(std::span<const std::span<float>> gradients, std::uint64_t bucket_bytes,
                                 const MakeExchange& make)
    : bucket_of_(gradients.size()), is_ready_(gradients.size()) {
  std::uint64_t bytes = bucket_bytes; // the first tensor opens a bucket
  for (std::size_t tensor = gradients.size(); tensor-- > 0;) {
    if (bytes >= bucket_bytes) {
      buckets_.emplace_back();
      bytes = 0;
    }
    Bucket& bucket = buckets_.back();
    bucket.pieces.push_back(gradients[tensor]);
    ++bucket.tensors;
    bytes += gradients[tensor].size_bytes();
    bucket_of_[tensor] = buckets_.size() - 1;
  }
  for (Bucket& bucket : buckets_) {
    close(bucket);
    bucket.exchange = make(bucket.flat.size(), static_cast<std::uint64_t>(&bucket - buckets_.data()) + 1);
  }
}

void GradientBuckets::close(Bucket& bucket) {
  bucket.missing = bucket.tensors;
  std::erase_if(bucket.pieces, [](std::span<float> piece) { return piece.empty(); });
  std::reverse(bucket.pieces.begin(), bucket.pieces.end());
  std::size_t count = 0;
  bool is_flat = true;
  for (const std::span<float> piece : bucket.pieces) {
    is_flat = is_flat && piece.data() == bucket.pieces.front().data() + count;
    count += piece.size();
  }
  if (is_flat) {
    bucket.flat = count == 0 ? std::span<float>() : std::span<float>(bucket.pieces.front().data(), count);
  } else {
    bucket.staging.resize(count);
    bucket.flat = bucket.staging;
  }
}

Status GradientBuckets::ready(Channel& channel, std::size_t tensor, double lr) {
  if (is_ready_[tensor]) {
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        "tensor " + std::to_string(tensor) +
            " was told ready twice in a step; with several backward passes, tell of the last one only");
  }
  is_ready_[tensor] = true;
  --buckets_[bucket_of_[tensor]].missing;
  return startReady(channel, lr);
}

Status GradientBuckets::startReady(Channel& channel, double lr) {
  for (; started_ < buckets_.size() && buckets_[started_].missing == 0; ++started_) {
    Bucket& bucket = buckets_[started_];
    if (bucket.flat.empty()) {
      continue;
    }
    if (!bucket.staging.empty()) {
      auto to = bucket.staging.begin();
      for (const std::span<float> piece : bucket.pieces) {
        to = std::copy(piece.begin(), piece.end(), to);
      }
    }
    if (Status status = bucket.exchange->start(channel, bucket.flat, lr); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

Status GradientBuckets::finish(Channel& channel, double lr) {
  for (Bucket& bucket : buckets_) {
    bucket.missing = 0;
  }
  if (Status status = startReady(channel, lr); !status.isOk()) {
    return status;
  }
  for (Bucket& bucket : buckets_) {
    if (Status status = bucket.exchange->finish(channel, bucket.flat); !status.isOk()) {
      return status;
    }
    auto from = bucket.staging.cbegin();
    for (const std::span<float> piece : bucket.staging.empty() ? std::span<std::span<float>>() : bucket.pieces) {
      std::copy_n(from, piece.size(), piece.begin());
      from += static_cast<std::ptrdiff_t>(piece.size());
    }
    bucket.missing = bucket.tensors;
  }
  std::fill(is_ready_.begin(), is_ready_.end(), false);
  started_ = 0;
  return Status::ok();
}

void GradientBuckets::save(base::WireWriter& writer) const {
  for (const Bucket& bucket : buckets_) {
    bucket.exchange->save(writer);
  }
}

void GradientBuckets::load(base::WireReader& reader) {
  for (Bucket& bucket : buckets_) {
    bucket.exchange->load(reader);
  }
}

} // namespace goss::sync
