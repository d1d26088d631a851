/// Kernels of reductions: the loops of lib/kernels over the same element functions, a kernel a dtype. Compiled by nvcc
/// and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_ARITHMETIC_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_ARITHMETIC_KERNELS_INC_H_

#include <cstdint>

#include "compressors/cuda/device/arithmetic.h"
#include "compressors/cuda/kernels/launch.h"
#include "kernels/elements.h"

namespace goss::compressors::cuda {

/// Bytes of a vector that one warp works on.
inline constexpr std::size_t kStripBytes = 8192;

/// What a lane loads and stores at once.
template <typename T>
struct alignas(16) Pack {
  static constexpr std::size_t kElems = 16 / sizeof(T);
  T of[kElems];
};

GOSS_DEVICE bool isAligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

template <typename T>
GOSS_HOST_DEVICE std::size_t stripsOf(std::size_t count) {
  return (count * sizeof(T) + kStripBytes - 1) / kStripBytes;
}

/// to[i] = function(a[i], b[i]) in one strip.
template <typename T, typename Function>
GOSS_DEVICE void eachOfStrip(T* to, const T* a, const T* b, std::size_t count, std::size_t strip, Function function) {
  const std::size_t first = strip * (kStripBytes / sizeof(T));
  const std::size_t left = count - first;
  const std::size_t some = left < kStripBytes / sizeof(T) ? left : kStripBytes / sizeof(T);
  const bool aligned = isAligned(to) && isAligned(a) && isAligned(b);
  const std::size_t packs = aligned ? some / Pack<T>::kElems : 0;
  Warp::each([&](unsigned lane) {
    for (std::size_t i = lane; i < packs; i += kWarpLanes) {
      const Pack<T> x = reinterpret_cast<const Pack<T>*>(a + first)[i];
      const Pack<T> y = reinterpret_cast<const Pack<T>*>(b + first)[i];
      Pack<T> result;
      GOSS_UNROLL
      for (std::size_t k = 0; k < Pack<T>::kElems; ++k) {
        result.of[k] = function(x.of[k], y.of[k]);
      }
      reinterpret_cast<Pack<T>*>(to + first)[i] = result;
    }
    for (std::size_t i = first + packs * Pack<T>::kElems + lane; i < first + some; i += kWarpLanes) {
      to[i] = function(a[i], b[i]);
    }
  });
}

template <typename T>
struct ReduceKernel {
  using Job = ReduceJob;
  static constexpr unsigned kBlocksResident = 4;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return stripsOf<T>(job.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t strip, unsigned char*) {
    constexpr bool kIsBool = std::is_same_v<T, kernels::Bool>;
    if constexpr (!kIsBool) {
      switch (job.op) {
        case GOSS_PROD:
          return by<kernels::Prod>(job, strip);
        case GOSS_MIN:
          return by<kernels::Min>(job, strip);
        case GOSS_MAX:
          return by<kernels::Max>(job, strip);
        default:
          break;
      }
    }
    if constexpr (kernels::kIsFloating<T>) {
      by<kernels::Sum>(job, strip);
    } else {
      byWholeNumbers(job, strip);
    }
  }

 private:
  /// Integers and truth values; the least and the largest of truth values are `and` and `or`.
  GOSS_DEVICE static void byWholeNumbers(const Job& job, std::size_t strip) {
    switch (job.op) {
      case GOSS_LAND:
        return by<kernels::Logical<kernels::BitAnd>>(job, strip);
      case GOSS_LOR:
        return by<kernels::Logical<kernels::BitOr>>(job, strip);
      case GOSS_LXOR:
        return by<kernels::Logical<kernels::BitXor>>(job, strip);
      default:
        break;
    }
    if constexpr (std::is_same_v<T, kernels::Bool>) {
      if (job.op == GOSS_MIN) return by<kernels::Logical<kernels::BitAnd>>(job, strip);
      return by<kernels::Logical<kernels::BitOr>>(job, strip);
    } else {
      switch (job.op) {
        case GOSS_BAND:
          return by<kernels::BitAnd>(job, strip);
        case GOSS_BOR:
          return by<kernels::BitOr>(job, strip);
        case GOSS_BXOR:
          return by<kernels::BitXor>(job, strip);
        default:
          return by<kernels::Sum>(job, strip);
      }
    }
  }
  template <typename Op>
  GOSS_DEVICE static void by(const Job& job, std::size_t strip) {
    eachOfStrip(static_cast<T*>(job.to), static_cast<const T*>(job.a), static_cast<const T*>(job.b), job.count, strip,
                [](T a, T b) { return kernels::combine<Op>(a, b); });
  }
};

template <typename T>
struct AverageKernel {
  using Job = AverageJob;
  static constexpr unsigned kBlocksResident = 4;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return stripsOf<T>(job.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t strip, unsigned char*) {
    const auto* from = static_cast<const T*>(job.from);
    const std::int32_t ranks = job.ranks;
    eachOfStrip(static_cast<T*>(job.to), from, from, job.count, strip,
                [ranks](T value, T) { return kernels::averaged(value, ranks); });
  }
};

/// Launches Kernel<T> for the type T of the job's dtype.
template <template <typename> class Kernel, typename Job>
int launchOfNumbers(const Job& job, Stream stream) {
  switch (job.dtype) {
    case GOSS_INT8:
      return launch<Kernel<std::int8_t>>(job, 0, stream);
    case GOSS_UINT8:
      return launch<Kernel<std::uint8_t>>(job, 0, stream);
    case GOSS_INT32:
      return launch<Kernel<std::int32_t>>(job, 0, stream);
    case GOSS_UINT32:
      return launch<Kernel<std::uint32_t>>(job, 0, stream);
    case GOSS_INT64:
      return launch<Kernel<std::int64_t>>(job, 0, stream);
    case GOSS_UINT64:
      return launch<Kernel<std::uint64_t>>(job, 0, stream);
    case GOSS_FLOAT16:
      return launch<Kernel<kernels::Float16>>(job, 0, stream);
    case GOSS_BFLOAT16:
      return launch<Kernel<kernels::BFloat16>>(job, 0, stream);
    case GOSS_FLOAT8_E4M3:
      return launch<Kernel<kernels::Float8E4M3>>(job, 0, stream);
    case GOSS_FLOAT8_E5M2:
      return launch<Kernel<kernels::Float8E5M2>>(job, 0, stream);
    case GOSS_FLOAT64:
      return launch<Kernel<double>>(job, 0, stream);
    default:
      return launch<Kernel<float>>(job, 0, stream);
  }
}

int launchReduce(const ReduceJob& job, Stream stream) {
  if (job.dtype == GOSS_BOOL) return launch<ReduceKernel<kernels::Bool>>(job, 0, stream);
  return launchOfNumbers<ReduceKernel>(job, stream);
}

int launchAverage(const AverageJob& job, Stream stream) { return launchOfNumbers<AverageKernel>(job, stream); }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_ARITHMETIC_KERNELS_INC_H_
