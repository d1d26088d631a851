/// Kernels of PowerSGD, with the CPU's order of operations (powersgd/factors.cc): a warp makes the sums of one slab for
/// 32 rows or columns, so that long sums are made side by side and still in one order. Compiled by nvcc and, for tests,
/// as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_FACTOR_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_FACTOR_KERNELS_INC_H_

#include "compressors/cuda/kernels/codec_kernels.h"
#include "compressors/cuda/kernels/factor_jobs.h"
#include "compressors/cuda/kernels/launch.h"
#include "compressors/powersgd/element.h"

namespace goss::compressors::cuda {

inline constexpr std::size_t kFactorGroup = 8; ///< Columns of a factor whose sums a lane holds in registers.
/// Side of a tile in shared memory; odd, to avoid bank conflicts.
inline constexpr std::size_t kTileSide = kWarpLanes + 1;

constexpr std::size_t inWarps(std::size_t count) { return (count + kWarpLanes - 1) / kWarpLanes; }

struct DrawClearKernel {
  using Job = DrawJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        *job.flags = 0;
      }
    });
  }
};

/// Flags: 1, something is not zero; 2, something is not finite.
struct DrawCheckKernel {
  using Job = DrawJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kRunElems - 1) / kRunElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    PerLane<std::uint32_t> flags;
    Warp::each([&](unsigned lane) {
      const std::size_t first = warp * kRunElems + lane * 4;
      std::uint32_t found = 0;
      if (first < job.count) {
        const Float4 four = loadFloat4(job.factor + first, job.count - first);
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          found |= four.value[i] != 0.0f ? 1u : 0u;
          found |= (bitCast<std::uint32_t>(four.value[i]) & kFloatInfinity) == kFloatInfinity ? 2u : 0u;
        }
      }
      flags[lane] = found;
    });
    Warp::maxWithin(flags, kWarpLanes); // a value that is not finite is not zero either, so 3 stands for both flags
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        atomicMax32(job.flags, flags[lane]);
      }
    });
  }
};

struct DrawKernel {
  using Job = DrawJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return inWarps(job.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    if (*job.flags == 1) {
      return;
    }
    Warp::each([&](unsigned lane) {
      const std::size_t i = warp * kWarpLanes + lane;
      if (i < job.count) {
        job.factor[i] = factorDraw(kernels::philox(job.key, i).word0);
      }
    });
  }
};

/// Computes the sums of one slab.
struct TimesKernel {
  using Job = TimesJob;
  struct Sums {
    float of[kFactorGroup];
  };
  GOSS_HOST_DEVICE static std::size_t outs(const Job& job) {
    return job.transposed ? job.shape.columns : job.shape.rows;
  }
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) {
    return inWarps(outs(job)) * factorSlabs(job.shape, job.transposed);
  }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char* shared) {
    const std::size_t slab = warp / inWarps(outs(job)), base = warp % inWarps(outs(job)) * kWarpLanes;
    for (std::size_t k = 0; k < job.shape.rank; k += kFactorGroup) {
      PerLane<Sums> sums;
      Warp::each([&](unsigned lane) {
        GOSS_UNROLL
        for (unsigned i = 0; i < kFactorGroup; ++i) {
          sums[lane].of[i] = 0;
        }
      });
      if (job.transposed) {
        sumDown(job, slab, base, k, sums);
      } else {
        sumAlong(job, slab, base, k, reinterpret_cast<float*>(shared), sums);
      }
      Warp::each([&](unsigned lane) {
        for (unsigned i = 0; i < kFactorGroup && k + i < job.shape.rank && base + lane < outs(job); ++i) {
          job.slabs[(slab * outs(job) + base + lane) * job.shape.rank + k + i] = sums[lane].of[i];
        }
      });
    }
  }

 private:
  GOSS_DEVICE static void add(const Job& job, float value, std::size_t row, std::size_t k, Sums& sums) {
    const float* from = job.factor + row * job.shape.rank + k;
    GOSS_UNROLL
    for (unsigned i = 0; i < kFactorGroup; ++i) {
      if (k + i < job.shape.rank) {
        sums.of[i] = sums.of[i] + value * from[i];
      }
    }
  }
  /// Each lane has a column of the matrix; the whole warp reads each row.
  GOSS_DEVICE static void sumDown(const Job& job, std::size_t slab, std::size_t base, std::size_t k,
                                  PerLane<Sums>& sums) {
    const std::size_t first = slab * kFactorSlab;
    const std::size_t end = job.shape.rows < first + kFactorSlab ? job.shape.rows : first + kFactorSlab;
    Warp::each([&](unsigned lane) {
      const std::size_t column = base + lane;
      for (std::size_t i = first; i < end && column < job.shape.columns; ++i) {
        add(job, job.matrix[i * job.shape.columns + column], i, k, sums[lane]);
      }
    });
  }
  /// Each lane has a row of the matrix; the whole warp reads tiles row by row and transposes them in shared memory.
  GOSS_DEVICE static void sumAlong(const Job& job, std::size_t slab, std::size_t base, std::size_t k, float* tile,
                                   PerLane<Sums>& sums) {
    const std::size_t columns = job.shape.columns, first = slab * kFactorSlab;
    const std::size_t end = columns < first + kFactorSlab ? columns : first + kFactorSlab;
    for (std::size_t at = first; at < end; at += kWarpLanes) {
      Warp::each([&](unsigned lane) {
        for (std::size_t row = 0; row < kWarpLanes && base + row < job.shape.rows; ++row) {
          if (at + lane < end) {
            tile[row * kTileSide + lane] = job.matrix[(base + row) * columns + at + lane];
          }
        }
      });
      Warp::sync();
      Warp::each([&](unsigned lane) {
        for (std::size_t j = 0; j < kWarpLanes && at + j < end && base + lane < job.shape.rows; ++j) {
          add(job, tile[lane * kTileSide + j], at + j, k, sums[lane]);
        }
      });
      Warp::sync();
    }
  }
};

/// Adds the slabs, in order.
struct SlabsKernel {
  using Job = TimesJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return inWarps(timesSize(job.shape, job.transposed)); }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    const std::size_t size = timesSize(job.shape, job.transposed), slabs = factorSlabs(job.shape, job.transposed);
    Warp::each([&](unsigned lane) {
      const std::size_t i = warp * kWarpLanes + lane;
      if (i < size) {
        float sum = 0;
        for (std::size_t slab = 0; slab < slabs; ++slab) {
          sum = sum + job.slabs[slab * size + i];
        }
        job.out[i] = sum;
      }
    });
  }
};

/// Gram-Schmidt by one warp: each lane has every 32nd row, in the order of the CPU's sums.
struct OrthonormalizeKernel {
  using Job = OrthonormalizeJob;
  static_assert(kFactorLanes == kWarpLanes);
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    for (std::size_t column = 0; column < job.rank; ++column) {
      const double before = columnDot(job, column, column);
      for (std::size_t other = 0; other < column; ++other) {
        const double along = columnDot(job, column, other);
        Warp::each([&](unsigned lane) {
          for (std::size_t i = lane; i < job.rows; i += kWarpLanes) {
            float* row = job.factor + i * job.rank;
            row[column] =
                static_cast<float>(static_cast<double>(row[column]) - along * static_cast<double>(row[other]));
          }
        });
      }
      const double inverse = factorInverse(before, columnDot(job, column, column));
      Warp::each([&](unsigned lane) {
        for (std::size_t i = lane; i < job.rows; i += kWarpLanes) {
          float* row = job.factor + i * job.rank;
          row[column] = static_cast<float>(static_cast<double>(row[column]) * inverse);
        }
      });
    }
  }

 private:
  GOSS_DEVICE static double columnDot(const Job& job, std::size_t a, std::size_t b) {
    PerLane<double> sums;
    Warp::each([&](unsigned lane) {
      double sum = 0;
      for (std::size_t i = lane; i < job.rows; i += kWarpLanes) {
        const float* row = job.factor + i * job.rank;
        sum += static_cast<double>(row[a]) * static_cast<double>(row[b]);
      }
      sums[lane] = sum;
    });
    for (unsigned half = kWarpLanes / 2; half != 0; half /= 2) {
      PerLane<double> before = sums;
      Warp::each([&](unsigned lane) {
        const double there = before.of((lane + half) % kWarpLanes);
        sums[lane] = lane < half ? before[lane] + there : before[lane];
      });
    }
    return sums.of(0);
  }
};

struct ProductKernel {
  using Job = ProductJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return job.shape.rows * inWarps(job.shape.columns); }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    const std::size_t row = warp / inWarps(job.shape.columns);
    const std::size_t base = warp % inWarps(job.shape.columns) * kWarpLanes;
    Warp::each([&](unsigned lane) {
      const std::size_t column = base + lane, i = row * job.shape.columns + column;
      if (column >= job.shape.columns) {
        return;
      }
      const float value = dot(job, job.left + row * job.shape.rank, job.right + column * job.shape.rank);
      if (job.residual != nullptr) {
        const bool same = job.own_left == job.left && job.own_right == job.right;
        const float own =
            same ? value : dot(job, job.own_left + row * job.shape.rank, job.own_right + column * job.shape.rank);
        job.residual[i] = finiteOrZero(job.values[i] - own);
      }
      job.values[i] = value;
    });
  }

 private:
  GOSS_DEVICE static float dot(const Job& job, const float* left, const float* right) {
    float sum = 0;
    for (std::size_t k = 0; k < job.shape.rank; ++k) {
      sum = sum + left[k] * right[k];
    }
    return sum;
  }
};

int launchDraw(const DrawJob& job, Stream stream) {
  int code = launch<DrawClearKernel>(job, 0, stream);
  code = code != 0 ? code : launch<DrawCheckKernel>(job, 0, stream);
  return code != 0 ? code : launch<DrawKernel>(job, 0, stream);
}
int launchTimes(const TimesJob& job, Stream stream) {
  const std::size_t tile = job.transposed ? 0 : kWarpLanes * kTileSide * sizeof(float);
  const int code = launch<TimesKernel>(job, tile, stream);
  return code != 0 ? code : launch<SlabsKernel>(job, 0, stream);
}
int launchOrthonormalize(const OrthonormalizeJob& job, Stream stream) {
  return launch<OrthonormalizeKernel>(job, 0, stream);
}
int launchProduct(const ProductJob& job, Stream stream) { return launch<ProductKernel>(job, 0, stream); }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_FACTOR_KERNELS_INC_H_
