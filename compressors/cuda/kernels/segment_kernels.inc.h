/// Kernels of MinMaxUInt8 and of uniform 8-bit. Compiled by nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SEGMENT_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SEGMENT_KERNELS_INC_H_

#include "compressors/cuda/kernels/codec_launches.h"
#include "compressors/cuda/kernels/segment_jobs.h"
#include "compressors/cuda/kernels/totals.h"

namespace goss::compressors::cuda {

inline constexpr std::size_t kStretchElems = 32768; ///< Elements that one warp reads.

constexpr std::size_t stretches(std::size_t count) { return (count + kStretchElems - 1) / kStretchElems; }

struct RangeClearKernel {
  using Job = RangeJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        job.state->low = job.state->high = job.state->peak = 0;
      }
    });
  }
};

struct RangeKernel {
  using Job = RangeJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return stretches(job.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t stretch, unsigned char*) {
    PerLane<std::uint32_t> low, high, peak;
    Warp::each([&](unsigned lane) {
      std::uint32_t least = 0, most = 0, largest = 0;
      const std::size_t first = stretch * kStretchElems;
      const std::size_t end = job.count < first + kStretchElems ? job.count : first + kStretchElems;
      eachFloat4(job.values, first, end, lane, [&](const Float4& four, std::size_t, std::size_t some) {
        GOSS_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          const auto order = static_cast<std::uint32_t>(kernels::orderKey(bitCast<std::int32_t>(four.value[k])));
          const std::uint32_t key = order ^ 0x80000000u, magnitude = peakKey(four.value[k]);
          const bool there = k < some;
          least = there && ~key > least ? ~key : least;
          most = there && key > most ? key : most;
          largest = there && magnitude > largest ? magnitude : largest;
        }
      });
      low[lane] = least;
      high[lane] = most;
      peak[lane] = largest;
    });
    Warp::maxWithin(low, kWarpLanes);
    Warp::maxWithin(high, kWarpLanes);
    Warp::maxWithin(peak, kWarpLanes);
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        atomicMax32(&job.state->low, low[lane]);
        atomicMax32(&job.state->high, high[lane]);
        atomicMax32(&job.state->peak, peak[lane]);
      }
    });
  }
};

GOSS_DEVICE float ofOrder(std::uint32_t key) {
  return bitCast<float>(kernels::orderKey(static_cast<std::int32_t>(key ^ 0x80000000u)));
}

struct RangeHeadKernel {
  using Job = RangeJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      const RangeState state = *job.state;
      const bool finite = state.peak < kPeakNotFinite;
      const float nan = bitCast<float>(kFloatNan);
      const float low = !finite ? nan : job.count == 0 ? 0.0f : ofOrder(~state.low);
      const float high = !finite ? nan : job.count == 0 ? 0.0f : ofOrder(state.high);
      if (lane == 0) {
        *reinterpret_cast<MinMax::Scale*>(job.state->scale) = {minMaxScale(low, high), finite ? 1u : 0u};
      }
      if (lane < kMinMaxHeaderBytes / 4) {
        storeFloatBytes(job.payload + 4 * lane, lane == 0 ? low : lane == 1 ? high : 0.0f);
      }
      if (job.count + lane < minMaxCodeBytes(job.count)) {
        job.payload[kMinMaxHeaderBytes + job.count + lane] = 0;
      }
    });
  }
};

/// Computes the scale and clears the codebook.
struct UniformScaleKernel {
  using Job = UniformJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    const GroupSums totals = totalOf(job.sums.groups, job.sums.count);
    Warp::each([&](unsigned lane) {
      for (std::size_t bucket = lane; bucket < kUniformBuckets; bucket += kWarpLanes) {
        job.state->buckets[bucket] = {0, 0, 0};
      }
      if (lane == 0) {
        const double freedom = job.sums.count > 1 ? static_cast<double>(job.sums.count) - 1 : 1;
        const auto deviation = static_cast<float>(__builtin_sqrt(totals.squares / freedom));
        job.state->finite = (bitCast<std::uint32_t>(deviation) & kFloatInfinity) != kFloatInfinity ? 1u : 0u;
        job.state->scale = uniformScale(deviation);
      }
    });
  }
};

/// Writes codes and counts them, in shared memory first. A distance to a level is added as its low half and, where it
/// is more than half a step, its high half, so that sums of a stretch fit 32 bits.
struct UniformCountKernel {
  using Job = UniformJob;
  struct Counters {
    std::uint32_t low[kUniformBuckets], high[kUniformBuckets], members[kUniformBuckets];
  };
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return stretches(job.sums.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t stretch, unsigned char* shared) {
    auto* counters = reinterpret_cast<Counters*>(shared);
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < kUniformBuckets; i += kWarpLanes) {
        counters->low[i] = counters->high[i] = counters->members[i] = 0;
      }
    });
    Warp::sync();
    const float inverse = job.state->scale.inverse;
    const bool finite = job.state->finite != 0;
    Warp::each([&](unsigned lane) {
      const std::size_t first = stretch * kStretchElems;
      const std::size_t end = job.sums.count < first + kStretchElems ? job.sums.count : first + kStretchElems;
      eachFloat4(job.sums.values, first, end, lane, [&](const Float4& four, std::size_t at, std::size_t some) {
        std::uint32_t code[4];
        GOSS_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          code[k] = 128;
          if (finite && k < some) {
            const UniformCode uniform = uniformCode(four.value[k], inverse);
            code[k] = uniform.code;
            count(*counters, uniform);
          }
        }
        storeCodes<1>(job.payload + at, code, some);
      });
    });
    Warp::sync();
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < kUniformBuckets; i += kWarpLanes) {
        if (counters->members[i] != 0) {
          UniformBucket& bucket = job.state->buckets[i];
          atomicAdd64(&bucket.low, counters->low[i]);
          atomicAdd64(&bucket.high, static_cast<unsigned long long>(
                                        static_cast<long long>(static_cast<std::int32_t>(counters->high[i]))));
          atomicAdd64(&bucket.members, counters->members[i]);
        }
      }
    });
  }

 private:
  GOSS_DEVICE static void count(Counters& counters, const UniformCode& uniform) {
    const std::int32_t above = uniform.rest + 32768; // for most elements in 0 .. 65536
    const std::int32_t high = above >> 16;
    atomicAdd32(counters.low + uniform.code, static_cast<std::uint32_t>(above) & 0xffffu);
    atomicAdd32(counters.members + uniform.code, 1);
    if (high != 0) {
      atomicAdd32(counters.high + uniform.code, static_cast<std::uint32_t>(high));
    }
  }
};

struct UniformTableKernel {
  using Job = UniformJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < kUniformBuckets; i += kWarpLanes) {
        const UniformBucket bucket = job.state->buckets[i];
        const auto sum = static_cast<long long>(bucket.low) + static_cast<long long>(bucket.high) * 65536 -
                         static_cast<long long>(bucket.members) * 32768;
        const float mean = uniformMean(i, sum, bucket.members, job.state->scale.step);
        storeFloatBytes(job.payload + job.sums.count + i * sizeof(float),
                        job.state->finite != 0 ? mean : bitCast<float>(kFloatNan));
      }
    });
  }
};

int launchRange(const RangeJob& job, Stream stream) {
  int code = launch<RangeClearKernel>(job, 0, stream);
  code = code != 0 ? code : launch<RangeKernel>(job, 0, stream);
  return code != 0 ? code : launch<RangeHeadKernel>(job, 0, stream);
}
CodecLaunches minMaxLaunches() { return segmentLaunches<MinMax, 4>(); }

int launchUniform(const UniformJob& job, Stream stream) {
  int code = launch<UniformScaleKernel>(job, 0, stream);
  code = code != 0 ? code : launch<UniformCountKernel>(job, sizeof(UniformCountKernel::Counters), stream);
  return code != 0 ? code : launch<UniformTableKernel>(job, 0, stream);
}
CodecLaunches codebookLaunches() { return {nullptr, launchDecode<Codebook>, nullptr, kRunElems}; }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_SEGMENT_KERNELS_INC_H_
