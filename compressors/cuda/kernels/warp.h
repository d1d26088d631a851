/// The one seam between a GPU and this machine: kernels are written for a warp of 32 lanes, and each lane's part is a
/// function that Warp::each() runs. nvcc makes each lane a thread; a C++ compiler makes loops over lanes from the same
/// source, so that the bodies of all kernels run where there is no GPU. Tests compile nvcc's branch as well, with
/// threads that are fibers (tests/compressors/cuda/simt).
///
/// Rules that make both the same: what lanes exchange goes through PerLane and is written in one each() and read in a
/// later one; lanes read shared memory that another lane wrote only after sync(); control flow outside of each() is the
/// same in all lanes.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_WARP_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_WARP_H_

#include <cstddef>
#include <cstdint>

#include "kernels/elements.h"

#if defined(__CUDACC__)
#define GOSS_DEVICE __device__ __forceinline__
#define GOSS_UNROLL _Pragma("unroll")
#else
#define GOSS_DEVICE inline
#define GOSS_UNROLL
#endif

namespace goss::compressors::cuda {

inline constexpr unsigned kWarpLanes = 32;

/// A variable of which every lane has its own copy.
template <typename T>
class PerLane {
 public:
#if defined(__CUDACC__)
  GOSS_DEVICE T& operator[](unsigned) { return value_; }
  /// Another lane's value; all lanes call together. T is made of 32-bit words.
  GOSS_DEVICE T of(unsigned lane) const {
    struct Words {
      std::uint32_t of[sizeof(T) / 4];
    };
    Words words = __builtin_bit_cast(Words, value_);
    GOSS_UNROLL
    for (unsigned word = 0; word < sizeof(T) / 4; ++word) {
      words.of[word] = __shfl_sync(0xffffffffu, words.of[word], static_cast<int>(lane));
    }
    return __builtin_bit_cast(T, words);
  }

 private:
  T value_;
#else
  T& operator[](unsigned lane) { return values_[lane]; }
  [[nodiscard]] T of(unsigned lane) const { return values_[lane]; }

 private:
  T values_[kWarpLanes];
#endif
};

/// The operations of a warp; only static functions, because a kernel has one warp for its work.
struct Warp {
  template <typename Function>
  GOSS_DEVICE static void each(Function run) {
#if defined(__CUDACC__)
    run(threadIdx.x % kWarpLanes);
#else
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      run(lane);
    }
#endif
  }
  /// Makes writes to shared memory visible to all lanes.
  GOSS_DEVICE static void sync() {
#if defined(__CUDACC__)
    __syncwarp();
#endif
  }
  /// Bit l: lane l's value is not zero.
  GOSS_DEVICE static std::uint32_t ballot(PerLane<std::uint32_t>& value) {
#if defined(__CUDACC__)
    return __ballot_sync(0xffffffffu, value[0] != 0);
#else
    std::uint32_t mask = 0;
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      mask |= (value[lane] != 0 ? 1u : 0u) << lane;
    }
    return mask;
#endif
  }
  /// Every lane gets the largest value of its group of `width` lanes, a power of two.
  template <typename T>
  GOSS_DEVICE static void maxWithin(PerLane<T>& value, unsigned width) {
#if defined(__CUDACC__)
    for (unsigned other = width / 2; other != 0; other /= 2) {
      const T there = __shfl_xor_sync(0xffffffffu, value[0], static_cast<int>(other));
      value[0] = value[0] > there ? value[0] : there;
    }
#else
    for (unsigned first = 0; first < kWarpLanes; first += width) {
      T largest = value[first];
      for (unsigned lane = first; lane < first + width; ++lane) {
        largest = value[lane] > largest ? value[lane] : largest;
      }
      for (unsigned lane = first; lane < first + width; ++lane) {
        value[lane] = largest;
      }
    }
#endif
  }
  /// Every lane gets the sum of the lanes before it; returns the sum of all.
  GOSS_DEVICE static std::uint32_t countBefore(PerLane<std::uint32_t>& value) {
#if defined(__CUDACC__)
    std::uint32_t sum = value[0];
    for (unsigned other = 1; other < kWarpLanes; other *= 2) {
      const std::uint32_t there = __shfl_up_sync(0xffffffffu, sum, other);
      sum += threadIdx.x % kWarpLanes >= other ? there : 0u;
    }
    value[0] = sum - value[0];
    return __shfl_sync(0xffffffffu, sum, kWarpLanes - 1);
#else
    std::uint32_t sum = 0;
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const std::uint32_t own = value[lane];
      value[lane] = sum;
      sum += own;
    }
    return sum;
#endif
  }
};

GOSS_DEVICE std::uint32_t onesIn(std::uint32_t mask) {
#if defined(__CUDACC__)
  return static_cast<std::uint32_t>(__popc(mask));
#else
  return static_cast<std::uint32_t>(__builtin_popcount(mask));
#endif
}

/// Atomic addition across the device: to += value; returns the old value.
GOSS_DEVICE std::uint32_t atomicAdd32(std::uint32_t* to, std::uint32_t value) {
#if defined(__CUDACC__)
  return atomicAdd(to, value);
#else
  const std::uint32_t before = *to;
  *to += value;
  return before;
#endif
}
GOSS_DEVICE void atomicMax32(std::uint32_t* to, std::uint32_t value) {
#if defined(__CUDACC__)
  atomicMax(to, value);
#else
  *to = *to > value ? *to : value;
#endif
}
GOSS_DEVICE unsigned long long atomicAdd64(unsigned long long* to, unsigned long long value) {
#if defined(__CUDACC__)
  return atomicAdd(to, value);
#else
  const unsigned long long before = *to;
  *to += value;
  return before;
#endif
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_WARP_H_
