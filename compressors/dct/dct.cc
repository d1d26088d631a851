#include "compressors/dct/dct.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "compressors/common/element.h"
#include "compressors/common/jobs.h"

namespace goss::compressors {

namespace {

constexpr std::size_t kEntryBytes = 1 + sizeof(float); ///< Index and value.

std::uint32_t magnitude(float value) { return bitCast<std::uint32_t>(value) & 0x7fffffffu; }

} // namespace

DctCodec::DctCodec(std::size_t chunk, std::size_t keep, const CommonLoops& common, const DctLoops& loops)
    : VectorCodec(common), chunk_(chunk), keep_(keep), loops_(loops), forward_(chunk * chunk), inverse_(chunk * chunk) {
  const auto size = static_cast<double>(chunk);
  for (std::size_t j = 0; j < chunk; ++j) {
    for (std::size_t c = 0; c < chunk; ++c) {
      const double scale = std::sqrt((c == 0 ? 1 : 2) / size);
      const double angle = std::numbers::pi * (static_cast<double>(j) + 0.5) * static_cast<double>(c) / size;
      forward_[j * chunk + c] = inverse_[c * chunk + j] = static_cast<float>(scale * std::cos(angle));
    }
  }
}

std::string DctCodec::spec() const { return fmt::format("dct:chunk={},keep={}", chunk_, keep_); }

CodecTraits DctCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  traits.block = static_cast<std::uint32_t>(chunk_);
  return traits;
}

std::size_t DctCodec::maxBytes(std::size_t count) const { return chunks(count) * keep_ * kEntryBytes; }

void DctCodec::writeChunk(const float* coefficients, unsigned char* indices, unsigned char* values) const {
  unsigned char order[kMostDctElems];
  for (std::size_t c = 0; c < chunk_; ++c) {
    order[c] = static_cast<unsigned char>(c);
  }
  std::nth_element(order, order + keep_ - 1, order + chunk_, [coefficients](unsigned char a, unsigned char b) {
    const std::uint32_t left = magnitude(coefficients[a]), right = magnitude(coefficients[b]);
    return left != right ? left > right : a < b;
  });
  std::sort(order, order + keep_);
  std::memcpy(indices, order, keep_);
  for (std::size_t k = 0; k < keep_; ++k) {
    std::memcpy(values + k * sizeof(float), coefficients + order[k], sizeof(float));
  }
}

std::size_t DctCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  unsigned char* values = to + chunks(in.count) * keep_;
  for (std::size_t i = 0; i < chunks(in.count); ++i) {
    float chunk[kMostDctElems] = {}, coefficients[kMostDctElems];
    const std::size_t some = std::min(chunk_, in.count - i * chunk_);
    std::copy_n(in.values + i * chunk_, some, chunk);
    if (finite(chunk, some)) {
      loops_.transform(coefficients, chunk, forward_.data(), chunk_);
    } else { // which NaN a sum gives depends on its order
      std::fill_n(coefficients, chunk_, bitCast<float>(kFloatNan));
    }
    writeChunk(coefficients, to + i * keep_, values + i * keep_ * sizeof(float));
  }
  return maxBytes(in.count);
}

void DctCodec::gather(PayloadView payload, std::size_t chunk, std::size_t count, float* coefficients,
                      unsigned* senders) const {
  const unsigned char* indices = bytesOf(payload) + chunk * keep_;
  const unsigned char* values = bytesOf(payload) + chunks(count) * keep_ + chunk * keep_ * sizeof(float);
  for (std::size_t k = 0; k < keep_; ++k) {
    float value;
    std::memcpy(&value, values + k * sizeof(float), sizeof value);
    coefficients[indices[k]] += value;
    if (senders != nullptr) {
      ++senders[indices[k]];
    }
  }
}

void DctCodec::decodeVector(PayloadView payload, const VectorOut& out) const {
  for (std::size_t i = 0; i < chunks(out.count); ++i) {
    float coefficients[kMostDctElems] = {}, chunk[kMostDctElems];
    gather(payload, i, out.count, coefficients, nullptr);
    loops_.transform(chunk, coefficients, inverse_.data(), chunk_);
    loops().deliver(out.out + i * chunk_, chunk, std::min(chunk_, out.count - i * chunk_), out.delivery);
  }
}

void DctCodec::decodeMean(const DecodeJob& job) const {
  const std::size_t count = job.out.size();
  for (std::size_t i = 0; i < chunks(count); ++i) {
    float coefficients[kMostDctElems] = {}, chunk[kMostDctElems];
    unsigned senders[kMostDctElems] = {};
    for (const PayloadView payload : job.payloads) {
      gather(payload, i, count, coefficients, senders);
    }
    for (std::size_t c = 0; c < chunk_; ++c) {
      coefficients[c] = senders[c] == 0 ? 0.0f : coefficients[c] / static_cast<float>(senders[c]);
    }
    loops_.transform(chunk, coefficients, inverse_.data(), chunk_);
    std::copy_n(chunk, std::min(chunk_, count - i * chunk_), job.out.data() + i * chunk_);
  }
}

std::string DctCodec::flawOf(PayloadView payload, std::size_t count) const {
  if (payload.size() != maxBytes(count)) {
    return fmt::format("it has {} bytes", maxBytes(count));
  }
  const unsigned char* indices = bytesOf(payload);
  for (std::size_t i = 0; i < chunks(count); ++i, indices += keep_) {
    for (std::size_t k = 0; k < keep_; ++k) {
      if (indices[k] >= chunk_ || (k > 0 && indices[k] <= indices[k - 1])) {
        return fmt::format("the indices of chunk {} are not ascending within it", i);
      }
    }
  }
  return {};
}

} // namespace goss::compressors
