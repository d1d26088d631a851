/// The bodies of the cell kernels: one warp encodes, merges or decodes one cell of a payload in one pass over memory,
/// its block's values in registers.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_CELLS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_CELLS_H_

#include "compressors/cuda/kernels/codes.h"
#include "kernels/philox.h"

namespace goss::compressors::cuda {

/// 16 random bits for each value of a unit that begins at `first` of the stream (random16()).
template <unsigned kRuns>
struct UnitRandom {
  std::uint32_t bits[4 * kRuns];
};
template <unsigned kRuns>
GOSS_DEVICE void fillUnitRandom(const StreamKey& key, std::uint64_t first, PerLane<UnitRandom<kRuns>>& random) {
  if (first % kernels::kRandomTile != 0) { // each element by itself, which takes eight times the work
    Warp::each([&](unsigned lane) {
      GOSS_UNROLL
      for (unsigned i = 0; i < 4 * kRuns; ++i) {
        random[lane].bits[i] = kernels::random16(key, first + placeOf(lane, i));
      }
    });
    return;
  }
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) { // a run is a tile of the stream: sixteen positions serve all lanes
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

/// The elements of one segment that a warp works on.
struct CellPlace {
  std::size_t first = 0; ///< Within the segment.
  std::size_t end = 0;
};

/// Whether the values to encode are computed on the device: then every NaN is made canonical, because a GPU computes
/// other NaNs than a CPU. Values that are encoded unchanged keep their bits.
GOSS_DEVICE bool computes(const CellJob& job) {
  return job.payload_count != 0 || job.factor != 1.0f || job.reference != nullptr ||
         (job.residual != nullptr && job.residual != job.values);
}

/// This lane's share of the values to encode: with payloads, factor, reference and residual applied.
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
  if (job.residual != nullptr && job.residual != job.values) { // otherwise the residual is the vector itself
    const Quad residual = loadQuad(job.residual + place, count);
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      quad.value[i] = quad.value[i] + job.decay * residual.value[i];
    }
  }
  if (computes(job)) {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      quad.value[i] = kernels::canonical(quad.value[i]);
    }
  }
  return quad;
}

/// prepareQuad() for all runs from `at`, this lane's first element, on, where they are whole and aligned (kWhole).
template <typename Scheme, unsigned kRuns>
GOSS_DEVICE Quads<kRuns> prepareRuns(const CellJob& job, const CellSegment& segment, std::size_t at) {
  const std::size_t place = segment.first + at;
  Quads<kRuns> quads = loadRuns<kRuns>(job.values + place);
  for (unsigned p = 0; p < job.payload_count; ++p) {
    const auto decoded = decodeRuns<Scheme, kRuns>(job.format, job.payloads[p], segment.count, at);
    eachOf(quads, [&](float value, unsigned run, unsigned i) { return value + decoded.of[run].value[i]; });
  }
  if (job.factor != 1.0f) {
    eachOf(quads, [&](float value, unsigned, unsigned) { return value * job.factor; });
  }
  if (job.reference != nullptr) {
    const auto reference = loadRuns<kRuns>(job.reference + place);
    eachOf(quads, [&](float value, unsigned run, unsigned i) { return value - reference.of[run].value[i]; });
  }
  if (job.residual != nullptr && job.residual != job.values) {
    const auto residual = loadRuns<kRuns>(job.residual + place);
    eachOf(quads, [&](float value, unsigned run, unsigned i) { return value + job.decay * residual.of[run].value[i]; });
  }
  if (computes(job)) {
    eachOf(quads, [&](float value, unsigned, unsigned) { return kernels::canonical(value); });
  }
  return quads;
}

/// Loads kUnits units that follow each other.
template <typename Scheme, unsigned kRuns, unsigned kUnits, bool kWhole>
GOSS_DEVICE void loadUnits(const CellJob& job, const CellSegment& segment, CellPlace all,
                           PerLane<Unit<kRuns>> (&values)[kUnits]) {
  Warp::each([&](unsigned lane) {
    if constexpr (kWhole) {
      const auto quads = prepareRuns<Scheme, kRuns * kUnits>(job, segment, all.first + lane * 4);
      GOSS_UNROLL
      for (unsigned run = 0; run < kRuns * kUnits; ++run) {
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          values[run / kRuns][lane].value[4 * (run % kRuns) + i] = quads.of[run].value[i];
        }
      }
    } else {
      GOSS_UNROLL
      for (unsigned run = 0; run < kRuns * kUnits; ++run) {
        const std::size_t place = all.first + run * kRunElems + lane * 4;
        Quad quad = {{0, 0, 0, 0}};
        if (place < all.end) {
          quad = prepareQuad<Scheme>(job, segment, place, all.end - place);
        }
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          values[run / kRuns][lane].value[4 * (run % kRuns) + i] = place + i < all.end ? quad.value[i] : 0.0f;
        }
      }
    }
  });
}

/// Writes what an encode leaves of four values: the residual and the decoded values.
template <typename Scheme, bool kWhole>
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
    storeQuad<kWhole>(job.residual + place, lost, count);
  }
  if (job.decoded != nullptr) {
    Quad decoded;
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      decoded.value[i] = Scheme::value(job.format, code[i], stored);
    }
    storeQuad<kWhole>(job.decoded + place, decoded, count);
  }
}

/// Codes of a unit whose scale each lane knows, to the payload or, where they are packed, to shared memory.
template <typename Scheme, unsigned kRuns, bool kWhole>
GOSS_DEVICE void codeUnit(const CellJob& job, const CellSegment& segment, CellPlace unit, PerLane<Unit<kRuns>>& values,
                          PerLane<typename Scheme::Scale>& scale, unsigned char* codes) {
  PerLane<UnitRandom<Scheme::kRandom ? kRuns : 1>> random;
  if constexpr (Scheme::kRandom) {
    fillUnitRandom<kRuns>(job.key, job.first_element + segment.first + unit.first, random);
  }
  const bool packed = isPacked<Scheme>(job.format);
  Warp::each([&](unsigned lane) {
    const typename Scheme::Scale how = scale[lane];
    GOSS_UNROLL
    for (unsigned run = 0; run < kRuns; ++run) {
      const std::size_t within = run * kRunElems + lane * 4, place = unit.first + within;
      if (kWhole || place < unit.end) {
        Quad quad;
        std::uint32_t code[4];
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          quad.value[i] = values[lane].value[4 * run + i];
          code[i] = Scheme::code(quad.value[i], how, Scheme::kRandom ? random[lane].bits[4 * run + i] : 0u);
        }
        const std::size_t count = unit.end - place;
        if (packed) {
          storeCodes<1, true>(codes + within, code, 4); // the shared memory has space for whole cells
        } else {
          constexpr unsigned kBytes = kCodeBytes<Scheme>;
          storeCodes<kBytes, kWhole>(segment.out + place * kBytes, code, count);
        }
        leaveQuad<Scheme, kWhole>(job, segment.first + place, count, quad, code, how);
      }
    }
  });
}

/// Writes the scales of a unit's blocks; the first lane of each block writes.
template <typename Scheme>
GOSS_DEVICE void storeScales(const CellJob& job, const CellSegment& segment, CellPlace unit, unsigned width,
                             PerLane<typename Scheme::Scale>& scale) {
  Warp::each([&](unsigned lane) {
    const std::size_t place = unit.first + lane * 4;
    if (lane % width == 0 && place < unit.end) {
      Scheme::store(job.format, segment.out, segment.count, place >> job.format.block_shift, scale[lane]);
    }
  });
}

/// Body of the encode and merge kernels. `codes` is shared memory of one cell. A unit of kRuns runs is a block, or
/// holds several whole blocks; a warp loads kUnits units before it works on the first. Longer blocks than a unit
/// (kReads == 2) are read twice: once for their scale.
template <typename Scheme, unsigned kRuns, unsigned kUnits, unsigned kReads>
struct EncodeCell {
  using Job = CellJob;
  /// Random numbers and long units need up to 128 registers: with 96 sm_80 spills.
  static constexpr unsigned kBlocksResident = Scheme::kRandom || kRuns * kReads >= 4 ? 4 : 5;
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
      segment.aligned = segment.aligned && job.behind->head % 16 == 0;
    }
    const std::size_t first = (cell - segment.cells_before) * job.format.cell;
    const std::size_t end = segment.count < first + job.format.cell ? segment.count : first + job.format.cell;
    if (first >= end) {
      return;
    }
    if (segment.aligned && end - first == job.format.cell) {
      encode<true>(job, segment, {first, end}, codes);
    } else {
      encode<false>(job, segment, {first, end}, codes);
    }
  }

 private:
  static constexpr std::size_t kUnit = kRuns * kRunElems;
  using Values = PerLane<Unit<kRuns>>;
  using Scales = PerLane<typename Scheme::Scale>;

  template <bool kWhole>
  GOSS_DEVICE static void encode(const Job& job, const CellSegment& segment, CellPlace cell, unsigned char* codes) {
    if constexpr (requires { typename Scheme::Tile; }) { // the cell is a tile with a scale of its own
      encodeTile<kWhole>(job, segment, cell, codes);
    } else if constexpr (kReads == 2) { // the cell is a block
      encodeLong<kWhole>(job, segment, cell, codes);
    } else {
      constexpr unsigned kTogether = kWhole ? kUnits : 1;
      for (std::size_t at = cell.first; at < cell.end; at += kTogether * kUnit) {
        Values values[kTogether];
        loadUnits<Scheme, kRuns, kTogether, kWhole>(job, segment, {at, cell.end}, values);
        GOSS_UNROLL
        for (unsigned unit = 0; unit < kTogether; ++unit) {
          const CellPlace place = unitAt(at + unit * kUnit, cell.end);
          encodeUnit<kWhole>(job, segment, place, values[unit], codes + (place.first - cell.first));
        }
      }
    }
    const unsigned bits = bitsOf<Scheme>(job.format);
    if (isPacked<Scheme>(job.format)) {
      Warp::sync();
      pack<kWhole>(job.format, segment, cell, codes, bits);
    }
  }
  GOSS_DEVICE static CellPlace unitAt(std::size_t first, std::size_t end) {
    return {first, end < first + kUnit ? end : first + kUnit};
  }
  GOSS_DEVICE static unsigned widthOf(const Job& job) {
    const std::size_t lanes = job.format.block.block / 4;
    return lanes < kWarpLanes ? static_cast<unsigned>(lanes) : kWarpLanes;
  }

  template <bool kWhole>
  GOSS_DEVICE static void encodeUnit(const Job& job, const CellSegment& segment, CellPlace unit, Values& values,
                                     unsigned char* codes) {
    const unsigned width = widthOf(job);
    typename Scheme::Statistic statistic;
    statistic.reset();
    statistic.template absorb<kRuns>(values, unit.end - unit.first, width);
    statistic.finish(width);
    Scales scale;
    Warp::each([&](unsigned lane) { scale[lane] = Scheme::scale(job.format, statistic, lane); });
    codeUnit<Scheme, kRuns, kWhole>(job, segment, unit, values, scale, codes);
    storeScales<Scheme>(job, segment, unit, width, scale);
  }
  template <bool kWhole>
  GOSS_DEVICE static void encodeLong(const Job& job, const CellSegment& segment, CellPlace block,
                                     unsigned char* codes) {
    Values values[1];
    typename Scheme::Statistic statistic;
    statistic.reset();
    for (std::size_t at = block.first; at < block.end; at += kUnit) {
      loadUnits<Scheme, kRuns, 1, kWhole>(job, segment, {at, block.end}, values);
      statistic.template absorb<kRuns>(values[0], block.end - at, kWarpLanes);
    }
    statistic.finish(kWarpLanes);
    Scales scale;
    Warp::each([&](unsigned lane) { scale[lane] = Scheme::scale(job.format, statistic, lane); });
    for (std::size_t at = block.first; at < block.end; at += kUnit) {
      loadUnits<Scheme, kRuns, 1, kWhole>(job, segment, {at, block.end}, values);
      codeUnit<Scheme, kRuns, kWhole>(job, segment, unitAt(at, block.end), values[0], scale,
                                      codes + (at - block.first));
    }
    storeScales<Scheme>(job, segment, block, kWarpLanes, scale);
  }

  template <bool kWhole>
  GOSS_DEVICE static void encodeTile(const Job& job, const CellSegment& segment, CellPlace tile, unsigned char* codes) {
    Values values[1];
    typename Scheme::Tile whole;
    whole.reset();
    for (std::size_t at = tile.first; at < tile.end; at += kUnit) {
      loadUnits<Scheme, kRuns, 1, kWhole>(job, segment, {at, tile.end}, values);
      whole.template absorb<kRuns>(values[0], tile.end - at, kWarpLanes);
    }
    whole.finish(kWarpLanes);
    const unsigned width = widthOf(job);
    for (std::size_t at = tile.first; at < tile.end; at += kUnit) {
      loadUnits<Scheme, kRuns, 1, kWhole>(job, segment, {at, tile.end}, values);
      typename Scheme::Statistic statistic;
      statistic.reset();
      statistic.template absorb<kRuns>(values[0], tile.end - at, width);
      statistic.finish(width);
      Scales scale;
      Warp::each([&](unsigned lane) { scale[lane] = Scheme::scaleIn(whole, statistic, lane); });
      const CellPlace unit = unitAt(at, tile.end);
      codeUnit<Scheme, kRuns, kWhole>(job, segment, unit, values[0], scale, codes + (at - tile.first));
      storeScales<Scheme>(job, segment, unit, width, scale);
    }
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        Scheme::storeTile(segment.out, segment.count, tile.first / kTileElems, whole.peak[lane]);
      }
    });
  }

  template <bool kWhole>
  GOSS_DEVICE static void pack(const CellFormat& format, const CellSegment& segment, CellPlace cell,
                               const unsigned char* codes, unsigned bits) {
    const unsigned shift = groupShift<Scheme>(format);
    const auto count = static_cast<unsigned>(cell.end - cell.first);
    unsigned char* upper = segment.out + (bits == 6 ? format.block.upperPlane(segment.count) + cell.first / 4 : 0);
    unsigned char* lower = segment.out + (bits == 6 ? cell.first / 2 : cell.first * bits / 8);
    if constexpr (kWhole) {
      if constexpr (Scheme::kBits == 1) {
        packWhole<1>(lower, codes, count, shift, 0);
      } else if (bits == 2) {
        packWhole<2>(lower, codes, count, shift, 0);
      } else {
        packWhole<4>(lower, codes, count, shift, 0);
      }
      if (bits == 6) {
        packWhole<2>(upper, codes, count, shift, 4);
      }
      return;
    }
    const unsigned group = 1u << shift;
    for (unsigned at = 0; at < count; at += group) {
      const unsigned here = count - at < group ? count - at : group, padded = paddedCodes(here, bits);
      if (bits == 6) {
        packGroup(lower + at / 2, codes + at, here, 4, 0, padded);
        packGroup(upper + at / 4, codes + at, here, 2, 4, padded);
      } else {
        packGroup(lower + at * bits / 8, codes + at, here, bits, 0, padded);
      }
    }
  }
};

/// Body of the decode kernel: a warp takes kDecodeElems elements through all payloads, in their order.
template <typename Scheme>
struct DecodeCell {
  using Job = DecodeCellJob;
  static constexpr unsigned kRuns = kDecodeElems / kRunElems;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kDecodeElems - 1) / kDecodeElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t cell, unsigned char*) {
    const bool behind = job.behind != nullptr;
    const std::size_t total = behind && job.behind->count < job.count ? job.behind->count : job.count;
    const std::size_t head = behind ? job.behind->head : 0, first = cell * kDecodeElems;
    const unsigned shift = Scheme::kPlanes == Planes::none ? 0 : groupShift<Scheme>(job.format);
    const std::size_t groups_end = ((first + kDecodeElems - 1) >> shift) + 1;
    if (job.aligned && head % 16 == 0 && groups_end << shift <= total) {
      Warp::each([&](unsigned lane) { decodeWidth(job, {first + lane * 4, total}, head); });
      return;
    }
    Warp::each([&](unsigned lane) {
      for (std::size_t at = first + lane * 4; at < first + kDecodeElems && at < total; at += kRunElems) {
        decodeSome(job, total, head, at);
      }
    });
  }

 private:
  GOSS_DEVICE static float shareOf(const Job& job, float value) {
    return job.delivery.mode == DecodeMode::axpy ? job.delivery.weight * value : value;
  }
  /// Whether the first payload replaces what is there.
  GOSS_DEVICE static bool replaces(const Job& job) { return job.delivery.mode == DecodeMode::set && !job.from_zero; }

  /// Decodes with a bit width known to the compiler: one body for all widths would take longer than the memory
  /// accesses.
  GOSS_DEVICE static void decodeWidth(const Job& job, CellPlace place, std::size_t head) {
    CellFormat format = job.format;
    if constexpr (Scheme::kBits == 0) {
      switch (job.format.block.bits) {
        case 2:
          format.block.bits = 2;
          return decodeAll(job, format, place, head);
        case 4:
          format.block.bits = 4;
          return decodeAll(job, format, place, head);
        case 6:
          format.block.bits = 6;
          return decodeAll(job, format, place, head);
        default:
          format.block.bits = 8;
      }
    }
    decodeAll(job, format, place, head);
  }
  /// All runs of a whole cell, from this lane's first element on, of a payload that ends at place.end.
  GOSS_DEVICE static void decodeAll(const Job& job, const CellFormat& format, CellPlace place, std::size_t head) {
    const std::size_t first = place.first;
    Quads<kRuns> quads = {};
    if (job.delivery.mode != DecodeMode::set) {
      quads = loadRuns<kRuns>(job.out + first);
    }
    for (unsigned p = 0; p < job.payload_count; ++p) {
      const auto decoded = decodeRuns<Scheme, kRuns>(format, job.payloads[p] + head, place.end, first);
      const bool replace = p == 0 && replaces(job);
      eachOf(quads, [&](float value, unsigned run, unsigned i) {
        const float there = decoded.of[run].value[i];
        return replace ? there : value + shareOf(job, there);
      });
    }
    if (job.divisor != 0) {
      eachOf(quads, [&](float value, unsigned, unsigned) { return value / job.divisor; });
    }
    GOSS_UNROLL
    for (unsigned run = 0; run < kRuns; ++run) {
      storeQuad<true>(job.out + first + run * kRunElems, quads.of[run], 4);
    }
  }
  /// Decodes four elements, or fewer.
  GOSS_DEVICE static void decodeSome(const Job& job, std::size_t total, std::size_t head, std::size_t first) {
    const std::size_t count = total - first;
    Quads<1> quads = {};
    if (job.delivery.mode != DecodeMode::set) {
      quads.of[0] = loadQuad(job.out + first, count);
    }
    for (unsigned p = 0; p < job.payload_count; ++p) {
      const Quad decoded = decodeQuad<Scheme>(job.format, job.payloads[p] + head, total, first, count);
      const bool replace = p == 0 && replaces(job);
      eachOf(quads, [&](float value, unsigned, unsigned i) {
        return replace ? decoded.value[i] : value + shareOf(job, decoded.value[i]);
      });
    }
    if (job.divisor != 0) {
      eachOf(quads, [&](float value, unsigned, unsigned) { return value / job.divisor; });
    }
    storeQuad(job.out + first, quads.of[0], count);
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

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_CELLS_H_
