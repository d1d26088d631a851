/// Kernels that search for the threshold of a sparsifier: the k-th largest magnitude by its digits, of all values or of
/// a sample. Compiled by nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_PICK_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_PICK_KERNELS_INC_H_

#include "compressors/cuda/cells.h"
#include "compressors/cuda/launch.h"
#include "compressors/cuda/sparse_jobs.h"
#include "compressors/sparse/element.h"

namespace goss::compressors::cuda {

GOSS_DEVICE std::uint32_t digitShift(int digit) { return digit == 0 ? 20u : digit == 1 ? 9u : 0u; }

struct BeginCell {
  using Job = BeginJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      for (std::uint32_t i = lane; job.histogram != nullptr && i < kPickBuckets; i += kWarpLanes) {
        job.histogram[i] = 0;
      }
      if (lane == 0) {
        *job.state = job.begin;
      }
    });
  }
};

/// Counts one digit of the magnitudes whose upper bits are known, in shared memory first.
struct HistogramCell {
  using Job = PickJob;
  static constexpr std::size_t kElems = 8 * kPickElems;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kElems - 1) / kElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t cell, unsigned char* shared) {
    const std::size_t stride = job.state->stride;
    const std::size_t count = (job.count + stride - 1) / stride;
    if (cell * kElems >= count) { // of a sample
      return;
    }
    auto* buckets = reinterpret_cast<std::uint32_t*>(shared);
    Warp::each([&](unsigned lane) {
      for (std::uint32_t i = lane; i < kPickBuckets; i += kWarpLanes) {
        buckets[i] = 0;
      }
    });
    Warp::sync();
    const std::uint32_t shift = digitShift(job.digit);
    const std::uint32_t above = job.digit == 0 ? 0u : ~0u << digitShift(job.digit - 1);
    const std::uint32_t mask = job.digit == 2 ? 0x1ffu : 0x7ffu;
    const std::uint32_t prefix = job.digit == 0 ? 0u : job.state->threshold;
    Warp::each([&](unsigned lane) {
      const std::size_t end = count < (cell + 1) * kElems ? count : (cell + 1) * kElems;
      const auto count_one = [&](float value) {
        const std::uint32_t magnitude = magnitudeBits(value);
        if ((magnitude & above) == prefix) {
          atomicAdd32(buckets + ((magnitude >> shift) & mask), 1);
        }
      };
      for (std::size_t i = cell * kElems + lane; stride != 1 && i < end; i += kWarpLanes) {
        count_one(job.values[i * stride]);
      }
      if (stride == 1) {
        eachQuad(job.values, cell * kElems, end, lane, [&](const Quad& quad, std::size_t, std::size_t some) {
          GOSS_UNROLL
          for (unsigned k = 0; k < 4; ++k) {
            if (k < some) {
              count_one(quad.value[k]);
            }
          }
        });
      }
    });
    Warp::sync();
    Warp::each([&](unsigned lane) {
      for (std::uint32_t i = lane; i < kPickBuckets; i += kWarpLanes) {
        if (buckets[i] != 0) {
          atomicAdd32(job.histogram + i, buckets[i]);
        }
      }
    });
  }
};

/// Finds the bucket of the wanted one, and clears the histogram for the next digit.
struct BucketCell {
  using Job = PickJob;
  static constexpr std::uint32_t kShare = kPickBuckets / kWarpLanes;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    const std::uint32_t wanted = job.digit == 0 ? job.state->wanted : job.state->ties;
    const std::uint32_t prefix = job.digit == 0 ? 0u : job.state->threshold;
    PerLane<std::uint32_t> before; // lane 0 has the highest buckets
    Warp::each([&](unsigned lane) {
      std::uint32_t sum = 0;
      for (std::uint32_t i = 0; i < kShare; ++i) {
        sum += job.histogram[(kWarpLanes - 1 - lane) * kShare + i];
      }
      before[lane] = sum;
    });
    Warp::countBefore(before);
    Warp::sync();
    Warp::each([&](unsigned lane) {
      std::uint32_t taken = before[lane];
      bool found = taken >= wanted; // in an earlier lane
      for (std::uint32_t i = kShare; i-- > 0 && !found;) {
        const std::uint32_t bucket = (kWarpLanes - 1 - lane) * kShare + i, here = job.histogram[bucket];
        found = taken + here >= wanted;
        if (found) {
          job.state->threshold = prefix | bucket << digitShift(job.digit);
          job.state->ties = wanted - taken;
        }
        taken += here;
      }
    });
    Warp::sync();
    Warp::each([&](unsigned lane) {
      for (std::uint32_t i = lane; i < kPickBuckets; i += kWarpLanes) {
        job.histogram[i] = 0;
      }
    });
  }
};

/// How many magnitudes reach the threshold, or are not finite.
struct SampleCountCell {
  using Job = SampleJob;
  static constexpr std::size_t kElems = 8 * kPickElems;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kElems - 1) / kElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t cell, unsigned char*) {
    const bool overflows = job.step == SampleStep::findOverflows;
    if (!overflows && job.state->settled != 0) {
      return;
    }
    const std::uint32_t least = overflows ? kFloatInfinity : job.state->threshold;
    PerLane<std::uint32_t> reached;
    Warp::each([&](unsigned lane) {
      std::uint32_t sum = 0;
      const std::size_t end = job.count < (cell + 1) * kElems ? job.count : (cell + 1) * kElems;
      eachQuad(job.values, cell * kElems, end, lane, [&](const Quad& quad, std::size_t, std::size_t some) {
        GOSS_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          sum += k < some && magnitudeBits(quad.value[k]) >= least ? 1u : 0u;
        }
      });
      reached[lane] = sum;
    });
    const std::uint32_t all = Warp::countBefore(reached);
    Warp::each([&](unsigned lane) {
      if (lane == 0 && all != 0) {
        atomicAdd64(&job.state->reached, all);
      }
    });
  }
};

/// What follows of the count.
struct SampleStepCell {
  using Job = SampleJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      if (lane != 0) {
        return;
      }
      PickState& state = *job.state;
      if (job.step == SampleStep::choose) { // an overflow must not be cut off with what is too many
        state.settled = state.reached != 0 ? 1u : 0u;
        state.wanted = state.settled != 0 ? job.wanted : job.wanted_sampled;
        state.stride = state.settled != 0 ? 1u : job.stride;
      } else if (state.settled == 0) {
        const bool few = 5 * state.reached<4ull * job.wanted, many = 10 * state.reached> 13ull * job.wanted;
        state.settled = few || many ? 0u : 1u;
        if (few || many) {
          state.threshold = magnitudeBits(bitCast<float>(state.threshold) * (few ? 0.8f : 1.3f));
        }
        state.ties = ~0u;
      }
      state.reached = 0;
    });
  }
};

int launchBegin(const BeginJob& job, Stream stream) { return launch<BeginCell>(job, 0, stream); }
int launchSample(const SampleJob& job, Stream stream) {
  const bool counts = job.step == SampleStep::findOverflows || job.step == SampleStep::count;
  return counts ? launch<SampleCountCell>(job, 0, stream) : launch<SampleStepCell>(job, 0, stream);
}
int launchPick(const PickJob& job, Stream stream) {
  const int code = launch<HistogramCell>(job, kPickBuckets * sizeof(std::uint32_t), stream);
  return code != 0 ? code : launch<BucketCell>(job, 0, stream);
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_PICK_KERNELS_INC_H_
