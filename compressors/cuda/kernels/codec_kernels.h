/// The bodies of the kernels that encode, merge and decode. In one pass over memory a warp serves elems_per_warp
/// elements of a payload (KernelFormat), and holds the values of a block in registers.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_CODEC_KERNELS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_CODEC_KERNELS_H_

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
        random[lane].bits[i] = kernels::random16(key, first + positionOf(lane, i));
      }
    });
    return;
  }
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) { // a run is a tile of the stream: sixteen positions serve all lanes
    PerLane<kernels::Random128> words;
    Warp::each([&](unsigned lane) {
      words[lane] = kernels::philox(key, (first / kernels::kRandomTile + run) * 16 + lane % 16);
    });
    Warp::each([&](unsigned lane) {
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        const kernels::Random128 there = words.of((lane * 4 + i) % 16);
        const unsigned which = lane / 4 % 4;
        const std::uint32_t low = which == 0 ? there.word0 : there.word1, high = which == 2 ? there.word2 : there.word3;
        random[lane].bits[4 * run + i] = ((which < 2 ? low : high) >> (16 * (lane / 16))) & 0xffffu;
      }
    });
  }
}

/// The elements of one segment that a warp encodes or decodes.
struct WarpRange {
  std::size_t first = 0; ///< Within the segment.
  std::size_t end = 0;
};

/// Whether the values to encode are computed on the device: then every NaN is made canonical, because a GPU computes
/// other NaNs than a CPU. Values that are encoded unchanged keep their bits.
GOSS_DEVICE bool computes(const EncodeKernelJob& job) {
  return job.payload_count != 0 || job.factor != 1.0f || job.reference != nullptr ||
         (job.residual != nullptr && job.residual != job.values);
}

/// This lane's share of the values to encode: with payloads, factor, reference and residual applied.
template <typename Scaling>
GOSS_DEVICE Float4 prepareFloat4(const EncodeKernelJob& job, const KernelSegment& segment, std::size_t at,
                                 std::size_t count) {
  const std::size_t position = segment.first + at;
  Float4 four = loadFloat4(job.values + position, count);
  if (job.payload_count != 0) {
    for (unsigned p = 0; p < job.payload_count; ++p) {
      const Float4 decoded = decodeFloat4<Scaling>(job.format, job.payloads[p], segment.count, at, count);
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        four.value[i] = four.value[i] + decoded.value[i];
      }
    }
  }
  if (job.factor != 1.0f) {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      four.value[i] = four.value[i] * job.factor;
    }
  }
  if (job.reference != nullptr) {
    const Float4 reference = loadFloat4(job.reference + position, count);
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      four.value[i] = four.value[i] - reference.value[i];
    }
  }
  if (job.residual != nullptr && job.residual != job.values) { // otherwise the residual is the vector itself
    const Float4 residual = loadFloat4(job.residual + position, count);
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      four.value[i] = four.value[i] + job.decay * residual.value[i];
    }
  }
  if (computes(job)) {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      four.value[i] = kernels::canonical(four.value[i]);
    }
  }
  return four;
}

/// prepareFloat4() for all runs from `at`, this lane's first element, on, where they are whole and aligned (kWhole).
template <typename Scaling, unsigned kRuns>
GOSS_DEVICE Float4Runs<kRuns> prepareRuns(const EncodeKernelJob& job, const KernelSegment& segment, std::size_t at) {
  const std::size_t position = segment.first + at;
  Float4Runs<kRuns> fours = loadRuns<kRuns>(job.values + position);
  for (unsigned p = 0; p < job.payload_count; ++p) {
    const auto decoded = decodeRuns<Scaling, kRuns>(job.format, job.payloads[p], segment.count, at);
    eachOf(fours, [&](float value, unsigned run, unsigned i) { return value + decoded.of[run].value[i]; });
  }
  if (job.factor != 1.0f) {
    eachOf(fours, [&](float value, unsigned, unsigned) { return value * job.factor; });
  }
  if (job.reference != nullptr) {
    const auto reference = loadRuns<kRuns>(job.reference + position);
    eachOf(fours, [&](float value, unsigned run, unsigned i) { return value - reference.of[run].value[i]; });
  }
  if (job.residual != nullptr && job.residual != job.values) {
    const auto residual = loadRuns<kRuns>(job.residual + position);
    eachOf(fours, [&](float value, unsigned run, unsigned i) { return value + job.decay * residual.of[run].value[i]; });
  }
  if (computes(job)) {
    eachOf(fours, [&](float value, unsigned, unsigned) { return kernels::canonical(value); });
  }
  return fours;
}

/// Loads kUnits units that follow each other.
template <typename Scaling, unsigned kRuns, unsigned kUnits, bool kWhole>
GOSS_DEVICE void loadUnits(const EncodeKernelJob& job, const KernelSegment& segment, WarpRange all,
                           PerLane<Unit<kRuns>> (&values)[kUnits]) {
  Warp::each([&](unsigned lane) {
    if constexpr (kWhole) {
      const auto fours = prepareRuns<Scaling, kRuns * kUnits>(job, segment, all.first + lane * 4);
      GOSS_UNROLL
      for (unsigned run = 0; run < kRuns * kUnits; ++run) {
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          values[run / kRuns][lane].value[4 * (run % kRuns) + i] = fours.of[run].value[i];
        }
      }
    } else {
      GOSS_UNROLL
      for (unsigned run = 0; run < kRuns * kUnits; ++run) {
        const std::size_t position = all.first + run * kRunElems + lane * 4;
        Float4 four = {{0, 0, 0, 0}};
        if (position < all.end) {
          four = prepareFloat4<Scaling>(job, segment, position, all.end - position);
        }
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          values[run / kRuns][lane].value[4 * (run % kRuns) + i] = position + i < all.end ? four.value[i] : 0.0f;
        }
      }
    }
  });
}

/// Writes what an encode leaves of four values: the residual and the decoded values.
template <typename Scaling, bool kWhole>
GOSS_DEVICE void leaveFloat4(const EncodeKernelJob& job, std::size_t position, std::size_t count, const Float4& values,
                             const std::uint32_t (&code)[4], const typename Scaling::Scale& how) {
  const auto stored = Scaling::stored(how);
  if (job.residual != nullptr) {
    Float4 lost;
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      if constexpr (Scaling::kKeepsLosses) {
        lost.value[i] = Scaling::lost(job.format, values.value[i], code[i], how);
      } else {
        lost.value[i] = finiteOrZero(values.value[i] - Scaling::value(job.format, code[i], stored));
      }
    }
    storeFloat4<kWhole>(job.residual + position, lost, count);
  }
  if (job.decoded != nullptr) {
    Float4 decoded;
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      decoded.value[i] = Scaling::value(job.format, code[i], stored);
    }
    storeFloat4<kWhole>(job.decoded + position, decoded, count);
  }
}

/// Writes the codes of a unit, whose scale each lane knows, to the payload, or to shared memory if they are packed.
template <typename Scaling, unsigned kRuns, bool kWhole>
GOSS_DEVICE void codeUnit(const EncodeKernelJob& job, const KernelSegment& segment, WarpRange unit,
                          PerLane<Unit<kRuns>>& values, PerLane<typename Scaling::Scale>& scale, unsigned char* codes) {
  PerLane<UnitRandom<Scaling::kRandom ? kRuns : 1>> random;
  if constexpr (Scaling::kRandom) {
    fillUnitRandom<kRuns>(job.key, job.first_element + segment.first + unit.first, random);
  }
  const bool packed = isPacked<Scaling>(job.format);
  Warp::each([&](unsigned lane) {
    const typename Scaling::Scale how = scale[lane];
    GOSS_UNROLL
    for (unsigned run = 0; run < kRuns; ++run) {
      const std::size_t within = run * kRunElems + lane * 4, position = unit.first + within;
      if (kWhole || position < unit.end) {
        Float4 four;
        std::uint32_t code[4];
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          four.value[i] = values[lane].value[4 * run + i];
          code[i] = Scaling::code(four.value[i], how, Scaling::kRandom ? random[lane].bits[4 * run + i] : 0u);
        }
        const std::size_t count = unit.end - position;
        if (packed) {
          storeCodes<1, true>(codes + within, code, 4); // the shared memory has space for all elements of a warp
        } else {
          constexpr unsigned kBytes = kCodeBytes<Scaling>;
          storeCodes<kBytes, kWhole>(segment.out + position * kBytes, code, count);
        }
        leaveFloat4<Scaling, kWhole>(job, segment.first + position, count, four, code, how);
      }
    }
  });
}

/// Writes the scales of a unit's blocks; the first lane of each block writes.
template <typename Scaling>
GOSS_DEVICE void storeScales(const EncodeKernelJob& job, const KernelSegment& segment, WarpRange unit, unsigned width,
                             PerLane<typename Scaling::Scale>& scale) {
  Warp::each([&](unsigned lane) {
    const std::size_t position = unit.first + lane * 4;
    if (lane % width == 0 && position < unit.end) {
      Scaling::store(job.format, segment.out, segment.count, position >> job.format.block_shift, scale[lane]);
    }
  });
}

/// Body of the encode and merge kernels. `codes` is the warp's shared memory, a byte for each of its elements. A unit
/// of kRuns runs is a block, or holds several whole blocks; a warp loads kUnits units before it works on the first.
/// Longer blocks than a unit (kReads == 2) are read twice: once for their scale.
template <typename Scaling, unsigned kRuns, unsigned kUnits, unsigned kReads>
struct EncodeKernel {
  using Job = EncodeKernelJob;
  /// Random numbers and long units need up to 128 registers: with 96 sm_80 spills.
  static constexpr unsigned kBlocksResident = Scaling::kRandom || kRuns * kReads >= 4 ? 4 : 5;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return job.warps; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char* codes) {
    unsigned s = 0;
    while (s + 1 < job.segment_count && warp >= job.segments[s + 1].warps_before) {
      ++s;
    }
    KernelSegment segment = job.segments[s];
    if (job.inner != nullptr) {
      segment.count = job.inner->count < segment.count ? job.inner->count : segment.count;
      segment.out += job.inner->head;
      segment.aligned = segment.aligned && job.inner->head % 16 == 0;
    }
    const std::size_t first = (warp - segment.warps_before) * job.format.elems_per_warp;
    const std::size_t end =
        segment.count < first + job.format.elems_per_warp ? segment.count : first + job.format.elems_per_warp;
    if (first >= end) {
      return;
    }
    if (segment.aligned && end - first == job.format.elems_per_warp) {
      encode<true>(job, segment, {first, end}, codes);
    } else {
      encode<false>(job, segment, {first, end}, codes);
    }
  }

 private:
  static constexpr std::size_t kUnit = kRuns * kRunElems;
  using Values = PerLane<Unit<kRuns>>;
  using Scales = PerLane<typename Scaling::Scale>;

  template <bool kWhole>
  GOSS_DEVICE static void encode(const Job& job, const KernelSegment& segment, WarpRange all, unsigned char* codes) {
    if constexpr (requires { typename Scaling::Tile; }) { // the warp's elements are a tile with a scale of its own
      encodeTile<kWhole>(job, segment, all, codes);
    } else if constexpr (kReads == 2) { // the warp's elements are a block
      encodeLong<kWhole>(job, segment, all, codes);
    } else {
      constexpr unsigned kTogether = kWhole ? kUnits : 1;
      for (std::size_t at = all.first; at < all.end; at += kTogether * kUnit) {
        Values values[kTogether];
        loadUnits<Scaling, kRuns, kTogether, kWhole>(job, segment, {at, all.end}, values);
        GOSS_UNROLL
        for (unsigned unit = 0; unit < kTogether; ++unit) {
          const WarpRange range = unitAt(at + unit * kUnit, all.end);
          encodeUnit<kWhole>(job, segment, range, values[unit], codes + (range.first - all.first));
        }
      }
    }
    const unsigned bits = bitsOf<Scaling>(job.format);
    if (isPacked<Scaling>(job.format)) {
      Warp::sync();
      pack<kWhole>(job.format, segment, all, codes, bits);
    }
  }
  GOSS_DEVICE static WarpRange unitAt(std::size_t first, std::size_t end) {
    return {first, end < first + kUnit ? end : first + kUnit};
  }
  GOSS_DEVICE static unsigned widthOf(const Job& job) {
    const std::size_t lanes = job.format.block.block / 4;
    return lanes < kWarpLanes ? static_cast<unsigned>(lanes) : kWarpLanes;
  }

  template <bool kWhole>
  GOSS_DEVICE static void encodeUnit(const Job& job, const KernelSegment& segment, WarpRange unit, Values& values,
                                     unsigned char* codes) {
    const unsigned width = widthOf(job);
    typename Scaling::Statistic statistic;
    statistic.reset();
    statistic.template absorb<kRuns>(values, unit.end - unit.first, width);
    statistic.finish(width);
    Scales scale;
    Warp::each([&](unsigned lane) { scale[lane] = Scaling::scale(job.format, statistic, lane); });
    codeUnit<Scaling, kRuns, kWhole>(job, segment, unit, values, scale, codes);
    storeScales<Scaling>(job, segment, unit, width, scale);
  }
  /// Makes `statistic` that of all values of `range`. `values` is space for a unit.
  template <bool kWhole, class Statistic>
  GOSS_DEVICE static void absorbUnits(const Job& job, const KernelSegment& segment, WarpRange range,
                                      Values (&values)[1], Statistic& statistic) {
    statistic.reset();
    for (std::size_t at = range.first; at < range.end; at += kUnit) {
      loadUnits<Scaling, kRuns, 1, kWhole>(job, segment, {at, range.end}, values);
      statistic.template absorb<kRuns>(values[0], range.end - at, kWarpLanes);
    }
    statistic.finish(kWarpLanes);
  }
  template <bool kWhole>
  GOSS_DEVICE static void encodeLong(const Job& job, const KernelSegment& segment, WarpRange block,
                                     unsigned char* codes) {
    Values values[1];
    typename Scaling::Statistic statistic;
    absorbUnits<kWhole>(job, segment, block, values, statistic);
    Scales scale;
    Warp::each([&](unsigned lane) { scale[lane] = Scaling::scale(job.format, statistic, lane); });
    for (std::size_t at = block.first; at < block.end; at += kUnit) {
      loadUnits<Scaling, kRuns, 1, kWhole>(job, segment, {at, block.end}, values);
      codeUnit<Scaling, kRuns, kWhole>(job, segment, unitAt(at, block.end), values[0], scale,
                                       codes + (at - block.first));
    }
    storeScales<Scaling>(job, segment, block, kWarpLanes, scale);
  }

  template <bool kWhole>
  GOSS_DEVICE static void encodeTile(const Job& job, const KernelSegment& segment, WarpRange tile,
                                     unsigned char* codes) {
    Values values[1];
    typename Scaling::Tile whole;
    absorbUnits<kWhole>(job, segment, tile, values, whole);
    const unsigned width = widthOf(job);
    for (std::size_t at = tile.first; at < tile.end; at += kUnit) {
      loadUnits<Scaling, kRuns, 1, kWhole>(job, segment, {at, tile.end}, values);
      typename Scaling::Statistic statistic;
      statistic.reset();
      statistic.template absorb<kRuns>(values[0], tile.end - at, width);
      statistic.finish(width);
      Scales scale;
      Warp::each([&](unsigned lane) { scale[lane] = Scaling::scaleIn(whole, statistic, lane); });
      const WarpRange unit = unitAt(at, tile.end);
      codeUnit<Scaling, kRuns, kWhole>(job, segment, unit, values[0], scale, codes + (at - tile.first));
      storeScales<Scaling>(job, segment, unit, width, scale);
    }
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        Scaling::storeTile(segment.out, segment.count, tile.first / kTileElems, whole.peak[lane]);
      }
    });
  }

  template <bool kWhole>
  GOSS_DEVICE static void pack(const KernelFormat& format, const KernelSegment& segment, WarpRange all,
                               const unsigned char* codes, unsigned bits) {
    const unsigned shift = groupShift<Scaling>(format);
    const auto count = static_cast<unsigned>(all.end - all.first);
    unsigned char* upper = segment.out + (bits == 6 ? format.block.upperPlane(segment.count) + all.first / 4 : 0);
    unsigned char* lower = segment.out + (bits == 6 ? all.first / 2 : all.first * bits / 8);
    if constexpr (kWhole) {
      if constexpr (Scaling::kBits == 1) {
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
template <typename Scaling>
struct DecodeKernel {
  using Job = DecodeKernelJob;
  static constexpr unsigned kRuns = kDecodeElems / kRunElems;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kDecodeElems - 1) / kDecodeElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    const bool inner = job.inner != nullptr;
    const std::size_t total = inner && job.inner->count < job.count ? job.inner->count : job.count;
    const std::size_t head = inner ? job.inner->head : 0, first = warp * kDecodeElems;
    const unsigned shift = Scaling::kPlanes == Planes::none ? 0 : groupShift<Scaling>(job.format);
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
  GOSS_DEVICE static void decodeWidth(const Job& job, WarpRange range, std::size_t head) {
    KernelFormat format = job.format;
    if constexpr (Scaling::kBits == 0) {
      switch (job.format.block.bits) {
        case 2:
          format.block.bits = 2;
          return decodeAll(job, format, range, head);
        case 4:
          format.block.bits = 4;
          return decodeAll(job, format, range, head);
        case 6:
          format.block.bits = 6;
          return decodeAll(job, format, range, head);
        default:
          format.block.bits = 8;
      }
    }
    decodeAll(job, format, range, head);
  }
  /// Decodes all runs of a warp from this lane's first element on, where none is beyond the payload's end, range.end.
  GOSS_DEVICE static void decodeAll(const Job& job, const KernelFormat& format, WarpRange range, std::size_t head) {
    const std::size_t first = range.first;
    Float4Runs<kRuns> fours = {};
    if (job.delivery.mode != DecodeMode::set) {
      fours = loadRuns<kRuns>(job.out + first);
    }
    for (unsigned p = 0; p < job.payload_count; ++p) {
      const auto decoded = decodeRuns<Scaling, kRuns>(format, job.payloads[p] + head, range.end, first);
      const bool replace = p == 0 && replaces(job);
      eachOf(fours, [&](float value, unsigned run, unsigned i) {
        const float there = decoded.of[run].value[i];
        return replace ? there : value + shareOf(job, there);
      });
    }
    if (job.divisor != 0) {
      eachOf(fours, [&](float value, unsigned, unsigned) { return value / job.divisor; });
    }
    GOSS_UNROLL
    for (unsigned run = 0; run < kRuns; ++run) {
      storeFloat4<true>(job.out + first + run * kRunElems, fours.of[run], 4);
    }
  }
  /// Decodes four elements, or fewer.
  GOSS_DEVICE static void decodeSome(const Job& job, std::size_t total, std::size_t head, std::size_t first) {
    const std::size_t count = total - first;
    Float4Runs<1> fours = {};
    if (job.delivery.mode != DecodeMode::set) {
      fours.of[0] = loadFloat4(job.out + first, count);
    }
    for (unsigned p = 0; p < job.payload_count; ++p) {
      const Float4 decoded = decodeFloat4<Scaling>(job.format, job.payloads[p] + head, total, first, count);
      const bool replace = p == 0 && replaces(job);
      eachOf(fours, [&](float value, unsigned, unsigned i) {
        return replace ? decoded.value[i] : value + shareOf(job, decoded.value[i]);
      });
    }
    if (job.divisor != 0) {
      eachOf(fours, [&](float value, unsigned, unsigned) { return value / job.divisor; });
    }
    storeFloat4(job.out + first, fours.of[0], count);
  }
};

/// Body of the kernel that says how long a payload is whose number of elements the device alone knows.
template <typename Scaling>
struct MeasureKernel {
  using Job = MeasureJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        *job.length = job.inner->head + Scaling::bytes(job.format, job.inner->count) + job.more;
      }
    });
  }
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_CODEC_KERNELS_H_
