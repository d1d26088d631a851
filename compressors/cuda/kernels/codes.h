/// Codes of payloads: bytes, words, and fewer bits in planes, four of a lane at a time.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_CODES_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_CODES_H_

#include "compressors/cuda/kernels/block_scaling.h"
#include "compressors/cuda/kernels/float4.h"

namespace goss::compressors::cuda {

/// Four codes of kBytes bytes each, as they lie in a payload.
template <unsigned kBytes>
struct alignas(4 * kBytes) FourCodes {
  std::uint32_t word[kBytes];

  GOSS_DEVICE std::uint32_t code(unsigned i) const {
    return kBytes == 1   ? word[0] >> (8 * i) & 255u
           : kBytes == 2 ? word[i * kBytes / 4] >> (16 * (i % 2)) & 0xffffu
                         : word[i * kBytes / 4];
  }
  /// Adds the code of element i; all codes are zero at first.
  GOSS_DEVICE void put(unsigned i, std::uint32_t code) {
    if constexpr (kBytes == 4) {
      word[i] = code;
    } else {
      constexpr std::uint32_t kMask = (1u << (8 * kBytes)) - 1;
      word[i * kBytes / 4] |= (code & kMask) << (8 * kBytes * (i % (4 / kBytes)));
    }
  }
};

/// Stores codes. kWhole: there are four, and the address is aligned to all of them.
template <unsigned kBytes, bool kWhole = false>
GOSS_DEVICE void storeCodes(unsigned char* to, const std::uint32_t (&code)[4], std::size_t count) {
  FourCodes<kBytes> codes = {};
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    codes.put(i, code[i]);
  }
  if (kWhole || (count >= 4 && reinterpret_cast<std::uintptr_t>(to) % (4 * kBytes) == 0)) {
    *reinterpret_cast<FourCodes<kBytes>*>(to) = codes;
    return;
  }
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned byte = 0; byte < kBytes && i < count; ++byte) {
      to[i * kBytes + byte] = static_cast<unsigned char>(code[i] >> (8 * byte));
    }
  }
}

template <typename Scaling>
GOSS_DEVICE unsigned bitsOf(const KernelFormat& format) {
  return Scaling::kBits == 0 ? format.block.bits : Scaling::kBits;
}

/// Binary logarithm of the number of elements that share planes: of a tile or of a block.
template <typename Scaling>
GOSS_DEVICE unsigned groupShift(const KernelFormat& format) {
  return Scaling::kPlanes == Planes::ofTiles ? kTileShift : format.block_shift;
}
/// Binary logarithm of the bytes of a whole group's plane.
GOSS_DEVICE unsigned partShift(unsigned group_shift, unsigned bits) { return group_shift + bits / 2 - 3; }

/// Number of codes in a plane, padded to whole bytes; 6 bits are planes of 4 and of 2.
GOSS_DEVICE unsigned paddedCodes(unsigned count, unsigned bits) {
  const unsigned unit = bits == 6 ? 4 : 8 / bits;
  return (count + unit - 1) / unit * unit;
}

GOSS_DEVICE std::uint32_t planeCode(const unsigned char* plane, unsigned padded, unsigned bits, unsigned within) {
  const unsigned part = padded * bits / 8, which = within / part;
  return (plane[within - which * part] >> (which * bits)) & ((1u << bits) - 1);
}

/// The code of an element of a group that may be short.
template <typename Scaling>
GOSS_DEVICE std::uint32_t planesCode(const KernelFormat& format, const unsigned char* payload, std::size_t total,
                                     std::size_t element) {
  const unsigned bits = bitsOf<Scaling>(format), group = 1u << groupShift<Scaling>(format);
  const std::size_t first = element & ~static_cast<std::size_t>(group - 1), left = total - first;
  const unsigned padded = paddedCodes(left < group ? static_cast<unsigned>(left) : group, bits);
  const auto within = static_cast<unsigned>(element - first);
  if (bits == 6) {
    return planeCode(payload + first / 2, padded, 4, within) |
           planeCode(payload + format.block.upperPlane(total) + first / 4, padded, 2, within) << 4;
  }
  return planeCode(payload + first * bits / 8, padded, bits, within);
}

/// Four codes, a byte each, from a whole group's plane: elements `within`, a multiple of four, to within + 3. It
/// shifts, because a GPU divides by calling a function.
GOSS_DEVICE std::uint32_t planeWord(const unsigned char* plane, unsigned group_shift, unsigned bits, unsigned within) {
  const unsigned part_shift = partShift(group_shift, bits);
  const std::uint32_t word = loadWordBytes(plane + (within & ((1u << part_shift) - 1)));
  return word >> ((within >> part_shift) * bits) & 0x01010101u * ((1u << bits) - 1);
}
template <typename Scaling>
GOSS_DEVICE std::uint32_t planesWord(const KernelFormat& format, const unsigned char* payload, std::size_t total,
                                     std::size_t element) {
  const unsigned bits = bitsOf<Scaling>(format), shift = groupShift<Scaling>(format);
  const std::size_t first = element >> shift << shift;
  const auto within = static_cast<unsigned>(element - first);
  if (bits == 6) {
    return planeWord(payload + first / 2, shift, 4, within) |
           planeWord(payload + format.block.upperPlane(total) + first / 4, shift, 2, within) << 4;
  }
  return planeWord(payload + first * bits / 8, shift, bits, within);
}

template <typename Scaling>
inline constexpr unsigned kCodeBytes = Scaling::kBits < 8 ? 1 : Scaling::kBits / 8;
template <typename Scaling>
GOSS_DEVICE bool isPacked(const KernelFormat& format) {
  return Scaling::kPlanes != Planes::none && bitsOf<Scaling>(format) != 8;
}

/// Codes of four elements; those from `count` on are zero. `first` is a multiple of four. kWhole: their group is whole,
/// and the payload aligned to 16 bytes.
template <typename Scaling, bool kWhole>
GOSS_DEVICE FourCodes<kCodeBytes<Scaling>> loadCodes(const KernelFormat& format, const unsigned char* payload,
                                                     std::size_t total, std::size_t first, std::size_t count) {
  constexpr unsigned kBytes = kCodeBytes<Scaling>;
  FourCodes<kBytes> codes = {};
  if (isPacked<Scaling>(format)) {
    const unsigned shift = groupShift<Scaling>(format);
    if (kWhole || ((first >> shift) + 1) << shift <= total) {
      codes.word[0] = planesWord<Scaling>(format, payload, total, first);
      return codes;
    }
    for (unsigned i = 0; i < 4 && i < count; ++i) {
      codes.put(i, planesCode<Scaling>(format, payload, total, first + i));
    }
    return codes;
  }
  const unsigned char* at = payload + first * kBytes;
  if (kWhole || (count >= 4 && reinterpret_cast<std::uintptr_t>(at) % (4 * kBytes) == 0)) {
    return *reinterpret_cast<const FourCodes<kBytes>*>(at);
  }
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    std::uint32_t code = 0;
    for (unsigned byte = 0; byte < kBytes && i < count; ++byte) {
      code |= static_cast<std::uint32_t>(at[i * kBytes + byte]) << (8 * byte);
    }
    codes.put(i, code);
  }
  return codes;
}

/// Four elements of a payload, which share a block; those from `count` on are zero. `first` is a multiple of four.
template <typename Scaling>
GOSS_DEVICE Float4 decodeFloat4(const KernelFormat& format, const unsigned char* payload, std::size_t total,
                                std::size_t first, std::size_t count) {
  const auto codes = loadCodes<Scaling, false>(format, payload, total, first, count);
  const auto how = Scaling::load(format, payload, total, first >> format.block_shift);
  Float4 four;
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    four.value[i] = i < count ? Scaling::value(format, codes.code(i), how) : 0.0f;
  }
  return four;
}

/// Decodes the runs from `first`, this lane's first element, on, where they are whole and aligned (kWhole).
template <typename Scaling, unsigned kRuns>
GOSS_DEVICE Float4Runs<kRuns> decodeRuns(const KernelFormat& format, const unsigned char* payload, std::size_t total,
                                         std::size_t first) {
  FourCodes<kCodeBytes<Scaling>> codes[kRuns];
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) {
    codes[run] = loadCodes<Scaling, true>(format, payload, total, first + run * kRunElems, 4);
  }
  typename Scaling::Scale how[kRuns];
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) {
    how[run] = Scaling::load(format, payload, total, (first + run * kRunElems) >> format.block_shift);
  }
  Float4Runs<kRuns> fours;
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      fours.of[run].value[i] = Scaling::value(format, codes[run].code(i), how[run]);
    }
  }
  return fours;
}

/// Some bits of all codes of a group, from shared memory to a plane (as packPlane() does).
GOSS_DEVICE void packGroup(unsigned char* to, const unsigned char* codes, unsigned count, unsigned bits, unsigned shift,
                           unsigned padded) {
  const unsigned part = padded * bits / 8;
  const unsigned mask = (1u << bits) - 1, parts = 8 / bits;
  Warp::each([&](unsigned lane) {
    for (unsigned i = lane; i < part; i += kWarpLanes) {
      unsigned byte = 0;
      for (unsigned p = 0; p < parts; ++p) {
        const unsigned position = p * part + i;
        const unsigned code = position < count ? codes[position] : 0u;
        byte |= ((code >> shift) & mask) << (p * bits);
      }
      to[i] = static_cast<unsigned char>(byte);
    }
  });
}
/// Packs whole groups as packGroup() does, four bytes at a time.
template <unsigned kBits>
GOSS_DEVICE void packWhole(unsigned char* to, const unsigned char* codes, unsigned count, unsigned group_shift,
                           unsigned shift) {
  const unsigned part_shift = partShift(group_shift, kBits);
  constexpr std::uint32_t kMask = 0x01010101u * ((1u << kBits) - 1);
  Warp::each([&](unsigned lane) {
    for (unsigned byte = lane * 4; byte < count * kBits / 8; byte += 4 * kWarpLanes) {
      const unsigned group = byte >> part_shift, within = byte & ((1u << part_shift) - 1);
      const auto* from = reinterpret_cast<const std::uint32_t*>(codes + (group << group_shift) + within);
      std::uint32_t word = 0;
      GOSS_UNROLL
      for (unsigned p = 0; p < 8 / kBits; ++p) {
        word |= (from[p << part_shift >> 2] >> shift & kMask) << (p * kBits);
      }
      storeWordBytes(to + byte, word);
    }
  });
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_CODES_H_
