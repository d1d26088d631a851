/// Kernels of codecs with one scale for a segment: sums in the CPU's order, the scale, and signs and ternary words.
/// Compiled by nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SCALED_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SCALED_KERNELS_INC_H_

#include "compressors/cuda/kernels/codec_launches.h"
#include "compressors/cuda/kernels/scale_jobs.h"
#include "compressors/cuda/kernels/totals.h"
#include "compressors/sign/element.h"
#include "compressors/ternary/element.h"

namespace goss::compressors::cuda {

struct PrepareKernel {
  using Job = PrepareJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kRunElems - 1) / kRunElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    Warp::each([&](unsigned lane) {
      const std::size_t first = warp * kRunElems + lane * 4;
      if (first >= job.count) {
        return;
      }
      const std::size_t count = job.count - first;
      Float4 four = loadFloat4(job.values + first, count);
      Float4 reference = {{0, 0, 0, 0}}, residual = {{0, 0, 0, 0}};
      if (job.reference != nullptr) {
        reference = loadFloat4(job.reference + first, count);
      }
      if (job.residual != nullptr) {
        residual = loadFloat4(job.residual + first, count);
      }
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        float value = four.value[i] * job.factor;
        value = job.reference != nullptr ? value - reference.value[i] : value;
        value = job.residual != nullptr ? value + job.decay * residual.value[i] : value;
        four.value[i] = kernels::canonical(value); // sparsifiers compare bits, and a GPU's NaNs have larger ones
      }
      storeFloat4(job.to + first, four, count);
    });
  }
};

/// Each warp sums two chunks: lane l takes every sixteenth element of chunk l / 16 (sumInLanes() in
/// common/loops.inc.h).
struct SumKernel {
  using Job = SumJob;
  static constexpr unsigned kSumLanes = 16, kSumLoads = 16;
  static_assert(kSumElems % (kSumLanes * kSumLoads) == 0);
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (sumChunks(job.count) + 1) / 2; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    PerLane<ChunkSums> sums;
    Warp::each([&](unsigned lane) {
      const std::size_t first = (2 * warp + lane / kSumLanes) * kSumElems;
      ChunkSums own = {0, 0, 0, 0};
      std::size_t i = first + lane % kSumLanes;
      for (; first + kSumElems <= job.count && i < first + kSumElems; i += kSumLoads * kSumLanes) {
        float values[kSumLoads]; // all are loaded before the first is added, because a load takes long
        GOSS_UNROLL
        for (unsigned k = 0; k < kSumLoads; ++k) {
          values[k] = job.values[i + k * kSumLanes];
        }
        GOSS_UNROLL
        for (unsigned k = 0; k < kSumLoads; ++k) {
          add(own, values[k]);
        }
      }
      for (; i < first + kSumElems && i < job.count; i += kSumLanes) {
        add(own, job.values[i]);
      }
      sums[lane] = own;
    });
    for (unsigned half = kSumLanes / 2; half != 0; half /= 2) {
      PerLane<ChunkSums> before = sums;
      Warp::each([&](unsigned lane) {
        const ChunkSums there = before.of((lane + half) % kWarpLanes);
        if (lane % kSumLanes < half) {
          ChunkSums& own = sums[lane];
          own.sum += there.sum;
          own.magnitudes += there.magnitudes;
          own.squares += there.squares;
          own.peak = there.peak > own.peak ? there.peak : own.peak;
        }
      });
    }
    Warp::each([&](unsigned lane) {
      const std::size_t chunk = 2 * warp + lane / kSumLanes;
      if (lane % kSumLanes == 0 && chunk < sumChunks(job.count)) {
        job.chunks[chunk] = sums[lane];
      }
    });
  }

 private:
  GOSS_DEVICE static void add(ChunkSums& sums, float value) {
    sums.sum += value;
    sums.magnitudes += bitCast<float>(bitCast<std::uint32_t>(value) & 0x7fffffffu);
    sums.squares += value * value;
    const std::uint32_t key = peakKey(value);
    sums.peak = key > sums.peak ? key : sums.peak;
  }
};

/// A warp adds the chunks of a group, in order (VectorCodec::sumOver()).
struct GroupKernel {
  using Job = SumJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return sumGroups(job.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t group, unsigned char*) {
    const std::size_t chunks = sumChunks(job.count), first = group * kSumGroup;
    const std::size_t end = chunks < first + kSumGroup ? chunks : first + kSumGroup;
    GroupSums sums = {0, 0, 0, 0};
    PerLane<std::uint32_t> peak;
    Warp::each([&](unsigned lane) { peak[lane] = 0; });
    for (std::size_t at = first; at < end; at += kWarpLanes) {
      PerLane<ChunkSums> some;
      Warp::each([&](unsigned lane) {
        some[lane] = at + lane < end ? job.chunks[at + lane] : ChunkSums{0, 0, 0, 0};
        peak[lane] = some[lane].peak > peak[lane] ? some[lane].peak : peak[lane];
      });
      for (unsigned lane = 0; lane < kWarpLanes && at + lane < end; ++lane) {
        const ChunkSums there = some.of(lane);
        sums.sum += static_cast<double>(there.sum);
        sums.magnitudes += static_cast<double>(there.magnitudes);
        sums.squares += static_cast<double>(there.squares);
      }
    }
    Warp::maxWithin(peak, kWarpLanes);
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        job.groups[group] = {sums.sum, sums.magnitudes, sums.squares, peak[lane]};
      }
    });
  }
};

GOSS_DEVICE float roundedScale(const ScaleJob& job, const GroupSums& totals) {
  const double count = static_cast<double>(job.count > 1 ? job.count : 1);
  if (job.kind != ScaleKind::ternary) {
    const bool first = job.kind == ScaleKind::meanMagnitude;
    const double mean = (first ? totals.magnitudes : totals.squares) / count;
    const double root = first ? mean : __builtin_sqrt(mean);
    const bool bounded = job.feedback && !first;
    const auto scale = static_cast<float>(bounded ? keptRoot(root, totals.magnitudes / count) : root);
    const bool finite = (bitCast<std::uint32_t>(scale) & kFloatInfinity) != kFloatInfinity;
    return finite ? roundTo16Bits(scale) : bitCast<float>(kFloatNan);
  }
  if (totals.peak >= kPeakNotFinite) {
    return bitCast<float>(kFloatNan);
  }
  float scale = bitCast<float>(totals.peak >> 1);
  if (job.clip != 0 && job.count != 0) {
    const double mean = totals.sum / count, variance = totals.squares / count - mean * mean;
    const double spread = variance < mean * mean ? mean * mean : variance;
    const auto bound = static_cast<float>(static_cast<double>(job.clip) * __builtin_sqrt(spread));
    const bool finite = (bitCast<std::uint32_t>(bound) & kFloatInfinity) != kFloatInfinity;
    scale = finite && bound < scale ? bound : scale;
  }
  return scaleFor(scale, 1).step;
}

/// The scale that decoders find in the payload, after roundedScale().
GOSS_DEVICE float storedScale(const ScaleJob& job, const GroupSums& totals, float scale) {
  if (job.kind != ScaleKind::ternary || !job.feedback || !(scale > 0)) { // or NaN
    return scale;
  }
  const auto peak = static_cast<double>(bitCast<float>(totals.peak >> 1));
  return roundTo16Bits(scale * ternaryGain(totals.squares, totals.magnitudes, peak, job.least_gain));
}

struct ScaleKernel {
  using Job = ScaleJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    const GroupSums totals = totalOf(job.groups, job.count);
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        const float scale = roundedScale(job, totals);
        const float stored = storedScale(job, totals, scale);
        job.scale[0] = scale;
        job.scale[1] = stored;
        storeFloatBytes(job.stored, stored);
      }
    });
  }
};

int launchPrepare(const PrepareJob& job, Stream stream) { return launch<PrepareKernel>(job, 0, stream); }
int launchSums(const SumJob& job, Stream stream) {
  const int code = launch<SumKernel>(job, 0, stream);
  return code != 0 ? code : launch<GroupKernel>(job, 0, stream);
}
int launchScale(const ScaleJob& job, Stream stream) { return launch<ScaleKernel>(job, 0, stream); }

CodecLaunches signLaunches() { return segmentLaunches<Sign, 1>(kTileElems); }

CodecLaunches ternaryLaunches(unsigned bits) {
  switch (bits) {
    case 2:
      return segmentLaunches<Ternary<2>, 1>(kTileElems);
    case 4:
      return segmentLaunches<Ternary<4>, 1>(kTileElems);
    default:
      return segmentLaunches<Ternary<8>, 1>();
  }
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_SCALED_KERNELS_INC_H_
