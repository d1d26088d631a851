/// Loops that several codec families share. Included by each file that is compiled for one instruction set, and
/// therefore wholly in an unnamed namespace: the linker must never merge code for different machines.
#ifndef GOSS_COMPRESSORS_COMMON_LOOPS_INC_H_
#define GOSS_COMPRESSORS_COMMON_LOOPS_INC_H_

#include <cstddef>
#include <cstdint>

#include "compressors/common/element.h"
#include "compressors/common/runs.h"
#include "kernels/loops.inc.h"
#include "kernels/philox.h"

namespace goss::compressors {
namespace {

/// Sixteen floats, in whatever registers the machine has. Used for sums, whose order must be the same everywhere.
using Lanes = float __attribute__((vector_size(64)));
inline constexpr std::size_t kLanes = 16;

inline float loadFloat(const unsigned char* from) {
  float value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
inline void storeFloat(unsigned char* to, float value) { __builtin_memcpy(to, &value, sizeof value); }

/// to = (values - reference) + decay * residual, where the pointers are not null. Every NaN becomes the canonical one,
/// because processors compute different NaNs.
inline void prepare(float* __restrict to, const EncodeRun& run, std::size_t first, std::size_t count) {
  const float* __restrict values = run.values + first;
  if (run.reference != nullptr && run.residual != nullptr) {
    const float* __restrict reference = run.reference + first;
    const float* __restrict residual = run.residual + first;
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = kernels::canonical((values[i] - reference[i]) + run.decay * residual[i]);
    }
  } else if (run.residual != nullptr) {
    const float* __restrict residual = run.residual + first;
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = kernels::canonical(values[i] + run.decay * residual[i]);
    }
  } else {
    const float* __restrict reference = run.reference + first;
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = kernels::canonical(values[i] - reference[i]);
    }
  }
}

/// The largest peakKey() of `count` values; 0 for none.
inline std::uint32_t peakOf(const float* values, std::size_t count) {
  std::uint32_t peak = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t key = peakKey(values[i]);
    peak = key > peak ? key : peak;
  }
  return peak;
}

/// Sums function(value) over the values: lane i takes elements i, i + 16, ...; then halves are added. A `count` of at
/// most a few thousand keeps the error small; longer vectors add such sums as doubles.
template <typename Function>
inline float sumInLanes(const float* values, std::size_t count, Function function) {
  Lanes sum = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes some;
    __builtin_memcpy(&some, values + i, sizeof some);
    function(some);
    sum += some;
  }
  if (i < count) {
    Lanes rest = {};
    __builtin_memcpy(&rest, values + i, (count - i) * sizeof(float));
    function(rest);
    sum += rest;
  }
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      sum[lane] += sum[lane + half];
    }
  }
  return sum[0];
}

inline float sumOfSquares(const float* values, std::size_t count) {
  return sumInLanes(values, count, [](Lanes& some) { some = some * some; });
}

/// 16 random bits for each of `count` elements from element `first` of the stream on: random16() by whole tiles.
inline void fillRandom(std::uint16_t* __restrict to, const StreamKey& key, std::uint64_t first, std::size_t count) {
  constexpr std::uint32_t kTile = kernels::kRandomTile;
  std::size_t done = 0;
  while (done < count) {
    const std::uint64_t tile = (first + done) / kTile;
    const auto skip = static_cast<std::size_t>((first + done) % kTile);
    std::uint16_t bits[kTile];
    for (std::uint32_t lane = 0; lane < 16; ++lane) {
      const kernels::Random128 random = kernels::philox(key, tile * 16 + lane);
      bits[lane] = static_cast<std::uint16_t>(random.word0);
      bits[16 + lane] = static_cast<std::uint16_t>(random.word1);
      bits[32 + lane] = static_cast<std::uint16_t>(random.word2);
      bits[48 + lane] = static_cast<std::uint16_t>(random.word3);
      bits[64 + lane] = static_cast<std::uint16_t>(random.word0 >> 16);
      bits[80 + lane] = static_cast<std::uint16_t>(random.word1 >> 16);
      bits[96 + lane] = static_cast<std::uint16_t>(random.word2 >> 16);
      bits[112 + lane] = static_cast<std::uint16_t>(random.word3 >> 16);
    }
    const std::size_t some = kTile - skip < count - done ? kTile - skip : count - done;
    __builtin_memcpy(to + done, bits + skip, some * sizeof(std::uint16_t));
    done += some;
  }
}

/// Puts kBits of each of `count` codes (a multiple of 8 / kBits) into count * kBits / 8 bytes: the vector is cut into
/// 8 / kBits equal parts, and byte i holds element i of each part, the first one in the lowest bits. So packing takes
/// no movement between lanes.
template <unsigned kBits>
inline void packPlane(unsigned char* __restrict to, const unsigned char* __restrict codes, std::size_t count,
                      unsigned shift) {
  constexpr unsigned kParts = 8 / kBits;
  constexpr unsigned kMask = (1u << kBits) - 1;
  const std::size_t part = count / kParts;
  for (std::size_t i = 0; i < part; ++i) {
    unsigned byte = 0;
#pragma GCC unroll 8
    for (unsigned p = 0; p < kParts; ++p) {
      byte |= ((static_cast<unsigned>(codes[p * part + i]) >> shift) & kMask) << (p * kBits);
    }
    to[i] = static_cast<unsigned char>(byte);
  }
}

/// Unpacks what packPlane() wrote; with `merge` the bits are added to those of another plane at `shift`.
template <unsigned kBits, bool kMerge = false>
inline void unpackPlane(unsigned char* __restrict codes, const unsigned char* __restrict from, std::size_t count,
                        unsigned shift = 0) {
  constexpr unsigned kParts = 8 / kBits;
  constexpr unsigned kMask = (1u << kBits) - 1;
  const std::size_t part = count / kParts;
#pragma GCC unroll 8
  for (unsigned p = 0; p < kParts; ++p) {
    unsigned char* __restrict to = codes + p * part;
    for (std::size_t i = 0; i < part; ++i) {
      const unsigned bits = ((static_cast<unsigned>(from[i]) >> (p * kBits)) & kMask) << shift;
      to[i] = static_cast<unsigned char>(kMerge ? to[i] | bits : bits);
    }
  }
}

/// Stores f(i) for i < count: how every decoder ends.
template <typename Function>
inline void deliver(float* __restrict out, std::size_t count, Delivery delivery, Function value) {
  if (delivery.mode == DecodeMode::set) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = value(i);
    }
  } else if (delivery.mode == DecodeMode::add) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = out[i] + value(i);
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = out[i] + delivery.weight * value(i);
    }
  }
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_LOOPS_INC_H_
