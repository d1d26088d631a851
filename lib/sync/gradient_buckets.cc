#include "sync/gradient_buckets.h"

#include <algorithm>

#include "sync/saved_vectors.h"

namespace goss::sync {

GradientBuckets::GradientBuckets(std::span<const std::span<float>> gradients, std::uint64_t bucket_bytes,
                                 const MakeExchange& make)
    : bucket_of_(gradients.size()), sizes_(gradients.size()), is_ready_(gradients.size()) {
  std::uint64_t bytes = bucket_bytes; // full, so that the first tensor opens a bucket
  for (std::size_t tensor = gradients.size(); tensor-- > 0;) {
    if (bytes >= bucket_bytes) {
      buckets_.emplace_back();
      bytes = 0;
    }
    Bucket& bucket = buckets_.back();
    bucket.pieces.push_back(gradients[tensor]);
    bucket.tensors_of.insert(bucket.tensors_of.begin(), tensor);
    ++bucket.tensors;
    bytes += gradients[tensor].size_bytes();
    sizes_[tensor] = gradients[tensor].size();
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
  writer.integer(static_cast<std::uint64_t>(buckets_.size()));
  for (const Bucket& bucket : buckets_) {
    const std::span<const float> kept = bucket.exchange->kept();
    saveNumbers(writer, bucket.tensors_of);
    writer.integer(static_cast<std::uint8_t>(kept.empty() ? 0 : 1));
    saveFloats(writer, kept);
  }
}

bool GradientBuckets::load(base::WireReader& reader) {
  bool fits = reader.integer<std::uint64_t>() == buckets_.size();
  for (std::size_t i = 0; fits && i < buckets_.size(); ++i) {
    const std::span<float> kept = buckets_[i].exchange->kept();
    fits = hasNumbers(reader, buckets_[i].tensors_of) && reader.integer<std::uint8_t>() == (kept.empty() ? 0 : 1);
    loadFloats(reader, kept);
  }
  return fits && reader.ok();
}

bool GradientBuckets::adopt(const OuterState& saved, std::span<const std::string> names) {
  for (Bucket& bucket : buckets_) {
    std::span<float> kept = bucket.exchange->kept();
    for (std::size_t i = 0; !kept.empty() && i < bucket.tensors_of.size(); ++i) {
      const std::uint64_t tensor = bucket.tensors_of[i];
      const OuterTensor* found = saved.find(names[tensor], sizes_[tensor]);
      if (found == nullptr || found->momentum.size() != sizes_[tensor]) {
        return false;
      }
      std::copy(found->momentum.begin(), found->momentum.end(), kept.begin());
      kept = kept.subspan(found->momentum.size());
    }
  }
  return true;
}

std::vector<std::vector<std::uint64_t>> GradientBuckets::layout() const {
  std::vector<std::vector<std::uint64_t>> result;
  for (const Bucket& bucket : buckets_) {
    result.push_back(bucket.tensors_of);
  }
  return result;
}

} // namespace goss::sync
