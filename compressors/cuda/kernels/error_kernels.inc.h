/// Kernels of LoCo's errors, which error feedback keeps in blocks of 8-bit integers, and of DGC's momenta. Compiled by
/// nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_ERROR_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_ERROR_KERNELS_INC_H_

#include "compressors/cuda/device/arithmetic.h"
#include "compressors/cuda/kernels/block_scaling.h"
#include "compressors/cuda/kernels/float4.h"
#include "compressors/cuda/kernels/launch.h"

namespace goss::compressors::cuda {

/// Copies the error to `lost`. If the job forgets, fills both with zeros.
struct OpenErrorKernel {
  using Job = ErrorJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kDecodeElems - 1) / kDecodeElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    const std::size_t first = warp * kDecodeElems;
    const std::size_t end = job.count < first + kDecodeElems ? job.count : first + kDecodeElems;
    Warp::each([&](unsigned lane) {
      eachFloat4(job.error, first, end, lane, [&](Float4 four, std::size_t position, std::size_t count) {
        if (job.forgets) {
          four = {{0, 0, 0, 0}};
          storeFloat4(job.error + position, four, count);
        }
        storeFloat4(job.lost + position, four, count);
      });
    });
  }
};

/// A warp computes one block of the error in registers.
struct KeepErrorKernel {
  using Job = ErrorJob;
  static constexpr unsigned kRuns = 2;
  static constexpr std::size_t kBlock = kRuns * kRunElems; ///< As `int8`; KernelFormat has its other parameters.
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kBlock - 1) / kBlock; }
  GOSS_DEVICE static void run(const Job& job, std::size_t block, unsigned char*) {
    const std::size_t first = block * kBlock;
    const std::size_t end = job.count < first + kBlock ? job.count : first + kBlock;
    Values values;
    eachRun(first, [&](unsigned lane, unsigned run, std::size_t position) {
      setRun(values[lane], run,
             position < end ? loadFloat4(job.error + position, end - position) : Float4{{0, 0, 0, 0}});
    });
    // The error of a block with other boundaries, as before a re-sharding, is no multiple of this block's step.
    roundToSteps(values);
    eachRun(first, [&](unsigned lane, unsigned run, std::size_t position) {
      Float4 lost = position < end ? loadFloat4(job.lost + position, end - position) : Float4{{0, 0, 0, 0}};
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        lost.value[i] = (1.0f - job.keep) * lost.value[i] + job.keep * values[lane].value[4 * run + i];
      }
      setRun(values[lane], run, lost);
    });
    roundToSteps(values);
    eachRun(first, [&](unsigned lane, unsigned run, std::size_t position) {
      Float4 four;
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        four.value[i] = values[lane].value[4 * run + i];
      }
      if (position < end) {
        storeFloat4(job.error + position, four, end - position);
      }
    });
  }

 private:
  using Integers = BlockInteger<BlockScheme::peak>;
  using Values = PerLane<Unit<kRuns>>;

  /// Calls use(lane, run, position of its four elements) in all lanes; positions may lie beyond the end.
  template <typename Use>
  GOSS_DEVICE static void eachRun(std::size_t first, Use use) {
    Warp::each([&](unsigned lane) {
      GOSS_UNROLL
      for (unsigned run = 0; run < kRuns; ++run) {
        use(lane, run, first + run * kRunElems + lane * 4);
      }
    });
  }
  GOSS_DEVICE static void setRun(Unit<kRuns>& unit, unsigned run, const Float4& four) {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      unit.value[4 * run + i] = four.value[i];
    }
  }
  /// Replaces a block's values, zero beyond its end, by what their payload decodes to.
  GOSS_DEVICE static void roundToSteps(Values& values) {
    PeakStatistic peak;
    peak.reset();
    peak.absorb<kRuns>(values, kBlock, kWarpLanes);
    peak.finish(kWarpLanes);
    Warp::each([&](unsigned lane) {
      const KernelFormat format;
      const BlockScale how = Integers::scale(format, peak, lane), stored = Integers::stored(how);
      GOSS_UNROLL
      for (unsigned i = 0; i < 4 * kRuns; ++i) {
        float& value = values[lane].value[i];
        value = Integers::value(format, Integers::code(value, how, 0), stored);
      }
    });
  }
};

struct MomentumKernel {
  using Job = MomentumJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kDecodeElems - 1) / kDecodeElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    const std::size_t first = warp * kDecodeElems;
    const std::size_t end = job.count < first + kDecodeElems ? job.count : first + kDecodeElems;
    Warp::each([&](unsigned lane) {
      eachFloat4(job.momentum, first, end, lane, [&](Float4 four, std::size_t position, std::size_t count) {
        const Float4 values = job.values == nullptr ? Float4{{0, 0, 0, 0}} : loadFloat4(job.values + position, count);
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          four.value[i] =
              job.values == nullptr ? finiteOrZero(four.value[i]) : job.factor * four.value[i] + values.value[i];
        }
        storeFloat4(job.momentum + position, four, count);
      });
    });
  }
};

int launchOpenError(const ErrorJob& job, Stream stream) { return launch<OpenErrorKernel>(job, 0, stream); }
int launchKeepError(const ErrorJob& job, Stream stream) { return launch<KeepErrorKernel>(job, 0, stream); }
int launchAddMomentum(const MomentumJob& job, Stream stream) { return launch<MomentumKernel>(job, 0, stream); }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_ERROR_KERNELS_INC_H_
