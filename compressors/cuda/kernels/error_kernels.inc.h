/// Kernels of LoCo's errors, which error feedback keeps in blocks of 8-bit integers. Compiled by nvcc and, for tests,
/// as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_ERROR_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_ERROR_KERNELS_INC_H_

#include "compressors/cuda/device/arithmetic.h"
#include "compressors/cuda/kernels/launch.h"
#include "compressors/cuda/kernels/quads.h"
#include "compressors/cuda/kernels/schemes.h"

namespace goss::compressors::cuda {

/// The error to `lost`; or zeros to both.
struct OpenErrorCell {
  using Job = ErrorJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kDecodeElems - 1) / kDecodeElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t cell, unsigned char*) {
    const std::size_t first = cell * kDecodeElems;
    const std::size_t end = job.count < first + kDecodeElems ? job.count : first + kDecodeElems;
    Warp::each([&](unsigned lane) {
      eachQuad(job.error, first, end, lane, [&](Quad quad, std::size_t place, std::size_t count) {
        if (job.forgets) {
          quad = {{0, 0, 0, 0}};
          storeQuad(job.error + place, quad, count);
        }
        storeQuad(job.lost + place, quad, count);
      });
    });
  }
};

/// A warp computes one block of the error in registers.
struct KeepErrorCell {
  using Job = ErrorJob;
  static constexpr unsigned kRuns = 2;
  static constexpr std::size_t kBlock = kRuns * kRunElems; ///< That of `int8`, whose other parameters CellFormat has.
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kBlock - 1) / kBlock; }
  GOSS_DEVICE static void run(const Job& job, std::size_t block, unsigned char*) {
    const std::size_t first = block * kBlock;
    const std::size_t end = job.count < first + kBlock ? job.count : first + kBlock;
    Values values;
    eachRun(first, [&](unsigned lane, unsigned run, std::size_t place) {
      setRun(values[lane], run, place < end ? loadQuad(job.error + place, end - place) : Quad{{0, 0, 0, 0}});
    });
    // The error of a block with other boundaries, as before a re-sharding, is no multiple of this block's step.
    roundToSteps(values);
    eachRun(first, [&](unsigned lane, unsigned run, std::size_t place) {
      Quad lost = place < end ? loadQuad(job.lost + place, end - place) : Quad{{0, 0, 0, 0}};
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        lost.value[i] = (1.0f - job.keep) * lost.value[i] + job.keep * values[lane].value[4 * run + i];
      }
      setRun(values[lane], run, lost);
    });
    roundToSteps(values);
    eachRun(first, [&](unsigned lane, unsigned run, std::size_t place) {
      Quad quad;
      GOSS_UNROLL
      for (unsigned i = 0; i < 4; ++i) {
        quad.value[i] = values[lane].value[4 * run + i];
      }
      if (place < end) {
        storeQuad(job.error + place, quad, end - place);
      }
    });
  }

 private:
  using Integers = BlockInteger<BlockScheme::peak>;
  using Values = PerLane<Unit<kRuns>>;

  /// Calls use(lane, run, place of its four elements) in all lanes; places may lie beyond the end.
  template <typename Use>
  GOSS_DEVICE static void eachRun(std::size_t first, Use use) {
    Warp::each([&](unsigned lane) {
      GOSS_UNROLL
      for (unsigned run = 0; run < kRuns; ++run) {
        use(lane, run, first + run * kRunElems + lane * 4);
      }
    });
  }
  GOSS_DEVICE static void setRun(Unit<kRuns>& unit, unsigned run, const Quad& quad) {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      unit.value[4 * run + i] = quad.value[i];
    }
  }
  /// Replaces a block's values, zero beyond its end, by what their payload decodes to.
  GOSS_DEVICE static void roundToSteps(Values& values) {
    PeakStatistic peak;
    peak.reset();
    peak.absorb<kRuns>(values, kBlock, kWarpLanes);
    peak.finish(kWarpLanes);
    Warp::each([&](unsigned lane) {
      const CellFormat format;
      const BlockScale how = Integers::scale(format, peak, lane), stored = Integers::stored(how);
      GOSS_UNROLL
      for (unsigned i = 0; i < 4 * kRuns; ++i) {
        float& value = values[lane].value[i];
        value = Integers::value(format, Integers::code(value, how, 0), stored);
      }
    });
  }
};

int launchOpenError(const ErrorJob& job, Stream stream) { return launch<OpenErrorCell>(job, 0, stream); }
int launchKeepError(const ErrorJob& job, Stream stream) { return launch<KeepErrorCell>(job, 0, stream); }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_ERROR_KERNELS_INC_H_
