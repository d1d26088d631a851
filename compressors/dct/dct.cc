#include "compressors/dct/dct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "compressors/common/element.h"
#include "compressors/common/jobs.h"
#include "compressors/dct/element.h"
#include "compressors/stage.h"

namespace goss::compressors {

DctTable makeDctTable(std::size_t chunk) {
  DctTable table;
  const auto size = static_cast<double>(chunk);
  table.chunk = chunk;
  table.level = static_cast<float>(std::sqrt(1 / size));
  for (std::size_t i = 0; i <= chunk; ++i) {
    const double angle = std::numbers::pi * (static_cast<double>(i) * 0.5) / size;
    table.cosine[i] = static_cast<float>(std::sqrt(2 / size) * std::cos(angle));
  }
  return table;
}

DctCodec::DctCodec(std::size_t chunk, std::size_t keep, const CommonLoops& common, const DctLoops& loops)
    : VectorCodec(common), chunk_(chunk), keep_(keep), loops_(loops), forward_(chunk * chunk), inverse_(chunk * chunk) {
  const DctTable table = makeDctTable(chunk);
  for (std::size_t j = 0; j < chunk; ++j) {
    for (std::size_t c = 0; c < chunk; ++c) {
      forward_[j * chunk + c] = inverse_[c * chunk + j] = dctBasis(table, j, c);
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

/// Coefficients have the chunk's norm, and the largest `keep` at least their share of it.
LossBound DctCodec::lossBound(std::size_t, bool) const {
  const auto chunk = static_cast<double>(chunk_), keep = static_cast<double>(keep_);
  return {1 - keep / chunk + 1e-6, std::sqrt(chunk), 0x1p-100};
}

std::size_t DctCodec::maxBytes(std::size_t count) const { return chunks(count) * keep_ * kDctEntryBytes; }

void DctCodec::writeChunk(const float* coefficients, unsigned char* indices, unsigned char* values) const {
  unsigned char order[kMaxDctElems];
  loops_.select(order, coefficients, chunk_, keep_);
  std::memcpy(indices, order, keep_);
  for (std::size_t k = 0; k < keep_; ++k) {
    const float value = dctStored(coefficients[order[k]]);
    std::memcpy(values + k * sizeof(float), &value, sizeof value);
  }
}

std::size_t DctCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  unsigned char* values = to + chunks(in.count) * keep_;
  const std::size_t some = 2 * chunk_;
  for (std::size_t i = 0; i < in.count; i += some) {
    float padded[2 * kMaxDctElems], coefficients[2 * kMaxDctElems];
    const std::size_t held = std::min(some, in.count - i);
    const float* from = in.values + i;
    if (held < some) {
      std::fill_n(std::copy_n(from, held, padded), some - held, 0.0f);
      from = padded;
    }
    loops_.transformTwo(coefficients, from, forward_.data(), chunk_);
    for (std::size_t half = 0; half * chunk_ < held; ++half) {
      float* chunk = coefficients + half * chunk_;
      if (!finite(from + half * chunk_, chunk_)) { // the order of a sum decides which NaN it gives
        std::fill_n(chunk, chunk_, bitCast<float>(kFloatNan));
      }
      const std::size_t place = i / chunk_ + half;
      writeChunk(chunk, to + place * keep_, values + place * keep_ * sizeof(float));
    }
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
    float coefficients[kMaxDctElems] = {}, chunk[kMaxDctElems];
    gather(payload, i, out.count, coefficients, nullptr);
    loops_.transform(chunk, coefficients, inverse_.data(), chunk_);
    loops().deliver(out.out + i * chunk_, chunk, std::min(chunk_, out.count - i * chunk_), out.delivery);
  }
}

void DctCodec::decodeMean(const DecodeJob& job) const {
  const std::size_t count = job.out.size();
  for (std::size_t i = 0; i < chunks(count); ++i) {
    float coefficients[kMaxDctElems] = {}, chunk[kMaxDctElems];
    unsigned senders[kMaxDctElems] = {};
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

namespace {

ValueCodec read(StageReader& reader) {
  const std::size_t chunk = reader.block("chunk", 64, {8, kMaxDctElems});
  const std::uint64_t keep = reader.integer("keep", 32, {1, kMaxDctElems});
  if (keep > chunk) {
    reader.refuse(fmt::format("keep={} is more than a chunk has", keep));
  }
  const DctSettings form{chunk, std::min<std::size_t>(keep, chunk)};
  return {
      [form](const Loops& loops) { return std::make_shared<DctCodec>(form.chunk, form.keep, loops.common, loops.dct); },
      form};
}

} // namespace

std::span<const ValueStage> dctStages() {
  static const std::array kStages = {
      ValueStage{"dct",
                 {"5 keep/chunk",
                  "the largest coefficients of a cosine transform of each chunk; the mean of several payloads is one "
                  "of coefficients",
                  "DeMo, Peng 2024",
                  "for each chunk the indices (1 byte, ascending) of `keep` coefficients; then for each chunk their "
                  "float32 values"},
                 {"dct:chunk=64,keep=8"},
                 read},
  };
  return kStages;
}

} // namespace goss::compressors
