/// Kernels of the Hadamard rotation: a warp rotates one chunk in shared memory. Compiled by nvcc and, for tests, as
/// host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_HADAMARD_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_HADAMARD_KERNELS_INC_H_

#include "compressors/cuda/kernels/hadamard_jobs.h"
#include "compressors/cuda/kernels/launch.h"
#include "compressors/hadamard/element.h"

namespace goss::compressors::cuda {

struct HadamardKernel {
  using Job = HadamardJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + job.chunk - 1) / job.chunk; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char* shared) {
    auto* work = reinterpret_cast<float*>(shared);
    std::size_t first = warp * job.chunk;
    const std::size_t end = job.count < first + job.chunk ? job.count : first + job.chunk;
    while (first < end) { // once, but at the end of the vector
      const std::size_t piece = hadamardPiece(end - first, job.chunk);
      load(job, first, piece, work);
      rotate(work, piece);
      store(job, first, piece, work);
      Warp::sync();
      first += piece;
    }
  }

 private:
  GOSS_DEVICE static void load(const Job& job, std::size_t first, std::size_t piece, float* work) {
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < piece; i += kWarpLanes) {
        const float value = job.from[first + i];
        work[i] = job.back ? value : hadamardSigned(value, static_cast<std::uint32_t>(i));
      }
    });
    Warp::sync();
  }
  /// In the order of the CPU's loops: from the farthest pairs to neighbours.
  GOSS_DEVICE static void rotate(float* work, std::size_t piece) {
    for (std::size_t apart = piece / 2; apart != 0; apart /= 2) {
      Warp::each([&](unsigned lane) {
        for (std::size_t pair = lane; pair < piece / 2; pair += kWarpLanes) {
          const std::size_t low = (pair & ~(apart - 1)) * 2 + (pair & (apart - 1));
          const float sum = work[low] + work[low + apart], difference = work[low] - work[low + apart];
          work[low] = sum;
          work[low + apart] = difference;
        }
      });
      Warp::sync();
    }
  }
  GOSS_DEVICE static void store(const Job& job, std::size_t first, std::size_t piece, const float* work) {
    const float scale = hadamardScale(piece);
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < piece; i += kWarpLanes) {
        const float scaled = work[i] * scale;
        if (!job.back) {
          job.to[first + i] = kernels::canonical(scaled);
          continue;
        }
        deliver(job, first + i, kernels::canonical(hadamardSigned(scaled, static_cast<std::uint32_t>(i))));
      }
    });
  }
  GOSS_DEVICE static void deliver(const Job& job, std::size_t at, float value) {
    const float share = job.delivery.mode == DecodeMode::axpy ? job.delivery.weight * value : value;
    const float sum = job.delivery.mode == DecodeMode::set ? value : job.to[at] + share;
    job.to[at] = job.divisor != 0 ? sum / job.divisor : sum;
  }
};

int launchHadamard(const HadamardJob& job, Stream stream) {
  return launch<HadamardKernel>(job, job.chunk * sizeof(float), stream);
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_HADAMARD_KERNELS_INC_H_
