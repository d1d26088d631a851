/// Kernels of the sparsifiers: reading the indices of a payload, and scattering its values. Compiled by nvcc and, for
/// tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SCATTER_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SCATTER_KERNELS_INC_H_

#include "compressors/cuda/kernels/codec_kernels.h"
#include "compressors/cuda/kernels/index_layout.h"
#include "compressors/cuda/kernels/launch.h"
#include "compressors/cuda/kernels/sparse_jobs.h"

namespace goss::compressors::cuda {

GOSS_DEVICE std::uint32_t bitsIn(unsigned byte) {
  byte = (byte & 0x55u) + (byte >> 1 & 0x55u);
  byte = (byte & 0x33u) + (byte >> 2 & 0x33u);
  return (byte & 0x0fu) + (byte >> 4);
}

struct HeldKernel {
  using Job = HeldJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        const auto said = bitCast<std::uint32_t>(loadFloatBytes(job.payload));
        const std::uint32_t held = said < job.most ? said : job.most;
        *job.inner = {held, 4 + static_cast<std::uint32_t>(indexLayout(job.count, held, job.packs).bytes)};
      }
    });
  }
};

GOSS_DEVICE std::uint32_t heldOf(const IndexJob& job) { return job.inner != nullptr ? job.inner->count : job.held; }
GOSS_DEVICE IndexLayout layoutOf(const IndexJob& job) { return indexLayout(job.count, heldOf(job), job.packs); }
/// Whether the payload may have a bit for each element: where only the device knows its form, both are handled.
GOSS_HOST_DEVICE bool mayMark(const IndexJob& job) {
  return job.inner != nullptr || indexLayout(job.count, job.held, job.packs).marks;
}

/// Counts the held elements of each chunk of such bits.
struct IndexCountKernel {
  using Job = IndexJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return mayMark(job) ? pickChunks(job.count) : 0; }
  GOSS_DEVICE static void run(const Job& job, std::size_t chunk, unsigned char*) {
    const IndexLayout layout = layoutOf(job);
    if (!layout.marks) {
      return;
    }
    PerLane<std::uint32_t> held;
    Warp::each([&](unsigned lane) {
      std::uint32_t sum = 0;
      const std::size_t bytes = layout.bytes - layout.first, first = chunk * kPickElems / 8;
      for (std::size_t i = first + lane; i < first + kPickElems / 8 && i < bytes; i += kWarpLanes) {
        sum += bitsIn(job.indices[layout.first + i]);
      }
      held[lane] = sum;
    });
    const std::uint32_t all = Warp::countBefore(held);
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        job.counts[chunk] = all;
      }
    });
  }
};

/// Turns these counts, or the counts of index tiles, into prefix sums.
struct IndexPlaceKernel {
  using Job = IndexJob;
  struct Share {
    std::uint32_t of[kPlaceShare];
  };
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    const bool marks = layoutOf(job).marks;
    const std::size_t groups = marks ? pickChunks(job.count) : (job.count + kIndexTile - 1) / kIndexTile;
    std::uint32_t done = 0;
    for (std::size_t base = 0; base < groups; base += kWarpLanes * kPlaceShare) {
      PerLane<Share> share;
      PerLane<std::uint32_t> held;
      Warp::each([&](unsigned lane) {
        held[lane] = 0;
        GOSS_UNROLL
        for (unsigned i = 0; i < kPlaceShare; ++i) {
          const std::size_t at = base + lane * kPlaceShare + i;
          share[lane].of[i] = at >= groups ? 0u : marks ? job.counts[at] : loadWordBytes(job.indices + 4 * at);
          held[lane] += share[lane].of[i];
        }
      });
      const std::uint32_t all = Warp::countBefore(held);
      Warp::each([&](unsigned lane) {
        std::uint32_t before = done + held[lane];
        GOSS_UNROLL
        for (unsigned i = 0; i < kPlaceShare; ++i) {
          const std::size_t at = base + lane * kPlaceShare + i;
          if (at < groups) {
            job.counts[at] = before;
          }
          before += share[lane].of[i];
        }
      });
      done += all;
    }
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        job.counts[groups] = done;
      }
    });
  }
};

/// Adds one value to the element that the payload names, unless it lies outside of the vector.
GOSS_DEVICE void scatterOne(const ScatterJob& job, std::size_t element, std::uint32_t position) {
  if (element >= job.index.count || position >= heldOf(job.index)) {
    return;
  }
  if (job.clears) {
    job.out[element] = 0;
    return;
  }
  const float value = job.values[position];
  const float sum = job.out[element] + (job.weighted ? job.weight * value : value);
  job.out[element] = job.finite ? finiteOrZero(sum) : kernels::canonical(sum);
  if (job.senders != nullptr) {
    ++job.senders[element];
  }
}

struct ScatterKernel {
  using Job = ScatterJob;
  static constexpr std::size_t kBytesOfChunk = kPickElems / 8;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) {
    return mayMark(job.index) ? pickChunks(job.index.count) : (job.index.held + kPickElems - 1) / kPickElems;
  }
  GOSS_DEVICE static void run(const Job& job, std::size_t chunk, unsigned char*) {
    if (const IndexLayout layout = layoutOf(job.index); layout.marks) {
      scatterMarked(job, layout, chunk);
    } else {
      scatterLocal(job, chunk);
    }
  }

 private:
  GOSS_DEVICE static void scatterMarked(const Job& job, const IndexLayout& layout, std::size_t chunk) {
    std::uint32_t done = job.index.counts[chunk];
    const unsigned char* const bits = job.index.indices + layout.first;
    const std::size_t bytes = layout.bytes - layout.first, first = chunk * kBytesOfChunk;
    for (std::size_t at = first; at < first + kBytesOfChunk && at < bytes; at += kWarpLanes) {
      PerLane<std::uint32_t> held;
      Warp::each([&](unsigned lane) { held[lane] = at + lane < bytes ? bitsIn(bits[at + lane]) : 0u; });
      const std::uint32_t all = Warp::countBefore(held);
      Warp::each([&](unsigned lane) {
        std::uint32_t position = done + held[lane];
        for (unsigned bit = 0; bit < 8 && at + lane < bytes; ++bit) {
          if ((bits[at + lane] >> bit & 1u) != 0) {
            scatterOne(job, elementOf(job, layout, (at + lane) * 8 + bit, position), position);
            ++position;
          }
        }
      });
      done += all;
    }
  }
  /// The element that a bit stands for, before which `position` bits are set.
  GOSS_DEVICE static std::size_t elementOf(const Job& job, const IndexLayout& layout, std::size_t bit,
                                           std::uint32_t position) {
    if (!layout.packs || position >= heldOf(job.index)) {
      return bit;
    }
    return (bit - position) << layout.low_bits | packedNumber(job.index.indices, layout.low_bits, position);
  }
  GOSS_DEVICE static void scatterLocal(const Job& job, std::size_t chunk) {
    const std::size_t tiles = (job.index.count + kIndexTile - 1) / kIndexTile;
    const unsigned char* local = job.index.indices + 4 * tiles;
    Warp::each([&](unsigned lane) {
      const std::size_t held = heldOf(job.index);
      const std::size_t end = held < (chunk + 1) * kPickElems ? held : (chunk + 1) * kPickElems;
      for (std::size_t position = chunk * kPickElems + lane; position < end; position += kWarpLanes) {
        std::size_t tile = 0, beyond = tiles; // the last tile that begins at or before the place
        while (beyond - tile > 1) {
          const std::size_t middle = (tile + beyond) / 2;
          const bool later = job.index.counts[middle] > position;
          beyond = later ? middle : beyond;
          tile = later ? tile : middle;
        }
        const std::size_t within = local[2 * position] | static_cast<std::size_t>(local[2 * position + 1]) << 8;
        scatterOne(job, tile * kIndexTile + within, static_cast<std::uint32_t>(position));
      }
    });
  }
};

struct RefuseKernel {
  using Job = RefuseJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return pickChunks(job.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t chunk, unsigned char*) {
    if (loadWordBytes(job.payload) <= job.most) {
      return;
    }
    Warp::each([&](unsigned lane) {
      const std::size_t end = job.count < (chunk + 1) * kPickElems ? job.count : (chunk + 1) * kPickElems;
      for (std::size_t i = chunk * kPickElems + lane; i < end; i += kWarpLanes) {
        job.out[i] = bitCast<float>(kFloatNan);
      }
    });
  }
};

int launchHeld(const HeldJob& job, Stream stream) { return launch<HeldKernel>(job, 0, stream); }
int launchIndex(const IndexJob& job, Stream stream) {
  const int code = launch<IndexCountKernel>(job, 0, stream);
  return code != 0 ? code : launch<IndexPlaceKernel>(job, 0, stream);
}
int launchRefuse(const RefuseJob& job, Stream stream) { return launch<RefuseKernel>(job, 0, stream); }
int launchScatter(const ScatterJob& job, Stream stream) { return launch<ScatterKernel>(job, 0, stream); }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_SCATTER_KERNELS_INC_H_
