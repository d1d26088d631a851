/// The bodies of the cell kernels: one warp encodes, merges or decodes one cell of a payload in one pass over memory,
/// its block's values in registers.
#ifndef GOSS_COMPRESSORS_CUDA_CELLS_H_
#define GOSS_COMPRESSORS_CUDA_CELLS_H_

#include "compressors/cuda/schemes.h"
#include "kernels/philox.h"

namespace goss::compressors::cuda {

/// Four floats; those from `count` on are not touched (loaded: zero).
struct alignas(16) Quad {
  float value[4];
};

GOSS_DEVICE Quad loadQuad(const float* from, std::size_t count) {
  if (count >= 4 && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
    return *reinterpret_cast<const Quad*>(from);
  }
  Quad quad;
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    quad.value[i] = i < count ? from[i] : 0.0f;
  }
  return quad;
}
GOSS_DEVICE void storeQuad(float* to, const Quad& quad, std::size_t count) {
  if (count >= 4 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
    *reinterpret_cast<Quad*>(to) = quad;
    return;
  }
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    if (i < count) {
      to[i] = quad.value[i];
    }
  }
}

/// Four codes of kBytes bytes each.
template <unsigned kBytes>
GOSS_DEVICE void storeCodes(unsigned char* to, const std::uint32_t (&code)[4], std::size_t count) {
  if (count >= 4 && reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
    auto* words = reinterpret_cast<std::uint32_t*>(to);
    if constexpr (kBytes == 1) {
      words[0] = (code[0] & 255u) | (code[1] & 255u) << 8 | (code[2] & 255u) << 16 | code[3] << 24;
    } else if constexpr (kBytes == 2) {
      words[0] = (code[0] & 0xffffu) | code[1] << 16;
      words[1] = (code[2] & 0xffffu) | code[3] << 16;
    } else {
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        words[i] = code[i];
      }
    }
    return;
  }
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned byte = 0; byte < kBytes && i < count; ++byte) {
      to[i * kBytes + byte] = static_cast<unsigned char>(code[i] >> (8 * byte));
    }
  }
}

GOSS_DEVICE float finiteOrZero(float value) {
  return (bitCast<std::uint32_t>(value) & kFloatInfinity) != kFloatInfinity ? value : 0.0f;
}

template <typename Scheme>
GOSS_DEVICE unsigned bitsOf(const CellFormat& format) {
  return Scheme::kBits == 0 ? format.block.bits : Scheme::kBits;
}

/// Codes in a plane are padded to whole bytes; 6 bits are planes of 4 and of 2.
GOSS_DEVICE std::size_t paddedCodes(std::size_t count, unsigned bits) {
  const std::size_t unit = bits == 6 ? 4 : 8 / bits;
  return (count + unit - 1) / unit * unit;
}

GOSS_DEVICE std::uint32_t planeCode(const unsigned char* plane, std::size_t padded, unsigned bits, std::size_t within) {
  const std::size_t part = padded * bits / 8, which = within / part;
  return (plane[within - which * part] >> (which * bits)) & ((1u << bits) - 1);
}

/// The code of an element, wherever it lies.
template <typename Scheme>
GOSS_DEVICE std::uint32_t codeOf(const CellFormat& format, const unsigned char* payload, std::size_t total,
                                 std::size_t element) {
  const unsigned bits = bitsOf<Scheme>(format);
  if (Scheme::kPlanes == Planes::none || bits == 8) {
    std::uint32_t code = 0;
    for (unsigned byte = 0; byte < bits / 8; ++byte) {
      code |= static_cast<std::uint32_t>(payload[element * (bits / 8) + byte]) << (8 * byte);
    }
    return code;
  }
  const std::size_t group = Scheme::kPlanes == Planes::ofTiles ? kTileElems : format.block.block;
  const std::size_t first = element / group * group, left = total - first;
  const std::size_t padded = paddedCodes(left < group ? left : group, bits);
  if (bits == 6) {
    return planeCode(payload + first / 2, padded, 4, element - first) |
           planeCode(payload + format.block.upperPlane(total) + first / 4, padded, 2, element - first) << 4;
  }
  return planeCode(payload + first * bits / 8, padded, bits, element - first);
}

/// Four codes of kBytes bytes each; storeCodes()'s opposite, for all four.
template <unsigned kBytes>
GOSS_DEVICE void loadCodes(const unsigned char* from, std::uint32_t (&code)[4]) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(from);
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    if constexpr (kBytes == 1) {
      code[i] = words[0] >> (8 * i) & 255u;
    } else if constexpr (kBytes == 2) {
      code[i] = words[i / 2] >> (16 * (i % 2)) & 0xffffu;
    } else {
      code[i] = words[i];
    }
  }
}

/// Four elements of a payload, which share a block; those from `count` on are zero. `first` is a multiple of four.
template <typename Scheme>
GOSS_DEVICE Quad decodeQuad(const CellFormat& format, const unsigned char* payload, std::size_t total,
                            std::size_t first, std::size_t count) {
  constexpr unsigned kBytes = Scheme::kBits < 8 ? 1 : Scheme::kBits / 8;
  const unsigned char* at = payload + first * kBytes;
  const bool whole = (Scheme::kPlanes == Planes::none || bitsOf<Scheme>(format) == 8) && count >= 4 &&
                     reinterpret_cast<std::uintptr_t>(at) % 4 == 0;
  std::uint32_t code[4];
  if (whole) {
    loadCodes<kBytes>(at, code);
  } else {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      code[i] = i < count ? codeOf<Scheme>(format, payload, total, first + i) : 0u;
    }
  }
  const auto how = Scheme::load(format, payload, total, first / format.block.block);
  Quad quad;
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    quad.value[i] = i < count ? Scheme::value(format, code[i], how) : 0.0f;
  }
  return quad;
}

/// The kBits of all codes of a group, from shared memory to a plane (as packPlane() does).
GOSS_DEVICE void packGroup(unsigned char* to, const unsigned char* codes, std::size_t count, std::size_t padded,
                           unsigned bits, unsigned shift) {
  const std::size_t part = padded * bits / 8;
  const unsigned mask = (1u << bits) - 1, parts = 8 / bits;
  Warp::each([&](unsigned lane) {
    for (std::size_t i = lane; i < part; i += kWarpLanes) {
      unsigned byte = 0;
      for (unsigned p = 0; p < parts; ++p) {
        const std::size_t place = p * part + i;
        const unsigned code = place < count ? codes[place] : 0u;
        byte |= ((code >> shift) & mask) << (p * bits);
      }
      to[i] = static_cast<unsigned char>(byte);
    }
  });
}

/// 16 random bits for each value of a unit that begins at `first` of the stream (random16()).
template <unsigned kRuns>
struct UnitRandom {
  std::uint32_t bits[4 * kRuns];
};
template <unsigned kRuns>
GOSS_DEVICE void fillUnitRandom(const StreamKey& key, std::uint64_t first, PerLane<UnitRandom<kRuns>>& random) {
  if (first % kernels::kRandomTile != 0) { // every element by itself: eight times the work
    Warp::each([&](unsigned lane) {
      GOSS_UNROLL
      for (unsigned i = 0; i < 4 * kRuns; ++i) {
        random[lane].bits[i] = kernels::random16(key, first + placeOf(lane, i));
      }
    });
    return;
  }
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) { // a run is a tile of the stream: sixteen places serve all lanes
    PerLane<kernels::Random128> places;
    Warp::each([&](unsigned lane) {
      places[lane] = kernels::philox(key, (first / kernels::kRandomTile + run) * 16 + lane % 16);
    });
    Warp::each([&](unsigned lane) {
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        const kernels::Random128 there = places.of((lane * 4 + i) % 16);
        const unsigned which = lane / 4 % 4;
        const std::uint32_t low = which == 0 ? there.word0 : there.word1, high = which == 2 ? there.word2 : there.word3;
        random[lane].bits[4 * run + i] = ((which < 2 ? low : high) >> (16 * (lane / 16))) & 0xffffu;
      }
    });
  }
}

/// Elements of one segment that a warp works on.
struct CellPlace {
  std::size_t first = 0; ///< Within the segment.
  std::size_t end = 0;
};

/// This lane's share of what is to be encoded: values with payloads, factor, reference and residual applied.
template <typename Scheme>
GOSS_DEVICE Quad prepareQuad(const CellJob& job, const CellSegment& segment, std::size_t at, std::size_t count) {
  const std::size_t place = segment.first + at;
  Quad quad = loadQuad(job.values + place, count);
  if (job.payload_count != 0) {
    for (unsigned p = 0; p < job.payload_count; ++p) {
      const Quad decoded = decodeQuad<Scheme>(job.format, job.payloads[p], segment.count, at, count);
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        quad.value[i] = quad.value[i] + decoded.value[i];
      }
    }
  }
  if (job.factor != 1.0f) {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      quad.value[i] = quad.value[i] * job.factor;
    }
  }
  if (job.reference != nullptr) {
    const Quad reference = loadQuad(job.reference + place, count);
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      quad.value[i] = quad.value[i] - reference.value[i];
    }
  }
  if (job.residual != nullptr && job.residual != job.values) { // otherwise it is the vector itself
    const Quad residual = loadQuad(job.residual + place, count);
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      quad.value[i] = quad.value[i] + job.decay * residual.value[i];
    }
  }
  return quad;
}

template <typename Scheme, unsigned kRuns>
GOSS_DEVICE void loadUnit(const CellJob& job, const CellSegment& segment, std::size_t at, std::size_t end,
                          PerLane<Unit<kRuns>>& values) {
  Warp::each([&](unsigned lane) {
    GOSS_UNROLL
    for (unsigned run = 0; run < kRuns; ++run) {
      const std::size_t place = at + run * kRunElems + lane * 4;
      Quad quad = {{0, 0, 0, 0}};
      if (place < end) {
        quad = prepareQuad<Scheme>(job, segment, place, end - place);
      }
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        values[lane].value[4 * run + i] = place + i < end ? quad.value[i] : 0.0f;
      }
    }
  });
}

/// What an encode leaves of four values: what is lost, and what was decoded.
template <typename Scheme>
GOSS_DEVICE void leaveQuad(const CellJob& job, std::size_t place, std::size_t count, const Quad& values,
                           const std::uint32_t (&code)[4], const typename Scheme::Scale& how) {
  const auto stored = Scheme::stored(how);
  if (job.residual != nullptr) {
    Quad lost;
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      if constexpr (Scheme::kKeepsLosses) {
        lost.value[i] = Scheme::lost(job.format, values.value[i], code[i], how);
      } else {
        lost.value[i] = finiteOrZero(values.value[i] - Scheme::value(job.format, code[i], stored));
      }
    }
    storeQuad(job.residual + place, lost, count);
  }
  if (job.decoded != nullptr) {
    Quad decoded;
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      decoded.value[i] = Scheme::value(job.format, code[i], stored);
    }
    storeQuad(job.decoded + place, decoded, count);
  }
}

/// Codes of a unit whose scale each lane knows, to the payload or, where they are packed, to shared memory.
template <typename Scheme, unsigned kRuns>
GOSS_DEVICE void codeUnit(const CellJob& job, const CellSegment& segment, CellPlace unit, PerLane<Unit<kRuns>>& values,
                          PerLane<typename Scheme::Scale>& scale, unsigned char* codes) {
  PerLane<UnitRandom<Scheme::kRandom ? kRuns : 1>> random;
  if constexpr (Scheme::kRandom) {
    fillUnitRandom<kRuns>(job.key, job.first_element + segment.first + unit.first, random);
  }
  const bool packed = Scheme::kPlanes != Planes::none && bitsOf<Scheme>(job.format) != 8;
  Warp::each([&](unsigned lane) {
    const typename Scheme::Scale how = scale[lane];
    GOSS_UNROLL
    for (unsigned run = 0; run < kRuns; ++run) {
      const std::size_t within = run * kRunElems + lane * 4, place = unit.first + within;
      if (place < unit.end) {
        Quad quad;
        std::uint32_t code[4];
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          quad.value[i] = values[lane].value[4 * run + i];
          code[i] = Scheme::code(quad.value[i], how, Scheme::kRandom ? random[lane].bits[4 * run + i] : 0u);
        }
        const std::size_t count = unit.end - place;
        if (packed) {
          storeCodes<1>(codes + within, code, count);
        } else {
          constexpr unsigned kBytes = Scheme::kBits < 8 ? 1 : Scheme::kBits / 8;
          storeCodes<kBytes>(segment.out + place * kBytes, code, count);
        }
        leaveQuad<Scheme>(job, segment.first + place, count, quad, code, how);
      }
    }
  });
}

/// Writes the scales of a unit's blocks: the first lane of each does.
template <typename Scheme>
GOSS_DEVICE void storeScales(const CellJob& job, const CellSegment& segment, CellPlace unit, unsigned width,
                             PerLane<typename Scheme::Scale>& scale) {
  Warp::each([&](unsigned lane) {
    const std::size_t place = unit.first + lane * 4;
    if (lane % width == 0 && place < unit.end) {
      Scheme::store(job.format, segment.out, segment.count, place / job.format.block.block, scale[lane]);
    }
  });
}

/// Encodes one block, or a run of smaller ones. Longer blocks than a unit (kReads == 2) are read twice: once for their
/// scale.
template <typename Scheme, unsigned kRuns, unsigned kReads>
GOSS_DEVICE void encodeBlock(const CellJob& job, const CellSegment& segment, CellPlace block, unsigned char* codes) {
  constexpr std::size_t kUnit = kRuns * kRunElems;
  const std::size_t lanes = job.format.block.block / 4;
  const unsigned width = lanes < kWarpLanes ? static_cast<unsigned>(lanes) : kWarpLanes;
  PerLane<Unit<kRuns>> values;
  typename Scheme::Statistic statistic;
  statistic.reset();
  for (std::size_t at = block.first; at < block.end; at += kUnit) {
    loadUnit<Scheme, kRuns>(job, segment, at, block.end, values);
    statistic.template absorb<kRuns>(values, block.end - at, width);
  }
  statistic.finish(width);
  PerLane<typename Scheme::Scale> scale;
  Warp::each([&](unsigned lane) { scale[lane] = Scheme::scale(job.format, statistic, lane); });
  if constexpr (kReads == 1) {
    codeUnit<Scheme, kRuns>(job, segment, block, values, scale, codes);
  } else {
    for (std::size_t at = block.first; at < block.end; at += kUnit) {
      loadUnit<Scheme, kRuns>(job, segment, at, block.end, values);
      codeUnit<Scheme, kRuns>(job, segment, {at, block.end < at + kUnit ? block.end : at + kUnit}, values, scale,
                              codes + (at - block.first));
    }
  }
  storeScales<Scheme>(job, segment, block, width, scale);
}

/// Body of the encode and merge kernels. `codes` is shared memory of one cell.
template <typename Scheme, unsigned kRuns, unsigned kReads>
struct EncodeCell {
  using Job = CellJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return job.cells; }
  GOSS_DEVICE static void run(const Job& job, std::size_t cell, unsigned char* codes) {
    unsigned s = 0;
    while (s + 1 < job.segment_count && cell >= job.segments[s + 1].cells_before) {
      ++s;
    }
    CellSegment segment = job.segments[s];
    if (job.behind != nullptr) {
      segment.count = job.behind->count < segment.count ? job.behind->count : segment.count;
      segment.out += job.behind->head;
    }
    const std::size_t first = (cell - segment.cells_before) * job.format.cell;
    const std::size_t end = segment.count < first + job.format.cell ? segment.count : first + job.format.cell;
    const std::size_t step = kReads == 1 ? kRuns * kRunElems : job.format.block.block;
    for (std::size_t at = first; at < end; at += step) {
      encodeBlock<Scheme, kRuns, kReads>(job, segment, {at, end < at + step ? end : at + step}, codes + (at - first));
    }
    const unsigned bits = bitsOf<Scheme>(job.format);
    if (Scheme::kPlanes != Planes::none && bits != 8) {
      Warp::sync();
      pack(job.format, segment, {first, end}, codes, bits);
      Warp::sync();
    }
  }

 private:
  GOSS_DEVICE static void pack(const CellFormat& format, const CellSegment& segment, CellPlace cell,
                               const unsigned char* codes, unsigned bits) {
    const std::size_t group = Scheme::kPlanes == Planes::ofTiles ? kTileElems : format.block.block;
    for (std::size_t at = cell.first; at < cell.end; at += group) {
      const std::size_t count = cell.end - at < group ? cell.end - at : group, padded = paddedCodes(count, bits);
      const unsigned char* from = codes + (at - cell.first);
      if (bits == 6) {
        packGroup(segment.out + at / 2, from, count, padded, 4, 0);
        packGroup(segment.out + format.block.upperPlane(segment.count) + at / 4, from, count, padded, 2, 4);
      } else {
        packGroup(segment.out + at * bits / 8, from, count, padded, bits, 0);
      }
    }
  }
};

/// Body of the decode kernel: a warp takes kRunElems elements through all payloads, in their order.
template <typename Scheme>
struct DecodeCell {
  using Job = DecodeCellJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kRunElems - 1) / kRunElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t cell, unsigned char*) {
    const bool behind = job.behind != nullptr;
    const std::size_t total = behind && job.behind->count < job.count ? job.behind->count : job.count;
    const std::size_t head = behind ? job.behind->head : 0;
    Warp::each([&](unsigned lane) {
      const std::size_t first = cell * kRunElems + lane * 4;
      if (first >= total) {
        return;
      }
      const std::size_t count = total - first;
      const bool sets = job.delivery.mode == DecodeMode::set;
      Quad quad = {{0, 0, 0, 0}};
      if (!sets) {
        quad = loadQuad(job.out + first, count);
      }
      for (unsigned p = 0; p < job.payload_count; ++p) {
        const Quad decoded = decodeQuad<Scheme>(job.format, job.payloads[p] + head, total, first, count);
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          const float value = decoded.value[i];
          const float share = job.delivery.mode == DecodeMode::axpy ? job.delivery.weight * value : value;
          quad.value[i] = sets && p == 0 && !job.from_zero ? value : quad.value[i] + share;
        }
      }
      if (job.divisor != 0) {
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          quad.value[i] = quad.value[i] / job.divisor;
        }
      }
      storeQuad(job.out + first, quad, count);
    });
  }
};

/// Body of the kernel that says how long a payload is whose number of elements the device alone knows.
template <typename Scheme>
struct MeasureCell {
  using Job = MeasureJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        *job.length = job.behind->head + Scheme::bytes(job.format, job.behind->count) + job.more;
      }
    });
  }
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_CELLS_H_
