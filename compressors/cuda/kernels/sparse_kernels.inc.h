/// Kernels of the sparsifiers: collecting elements in order, and blocks that the shared stream chooses. Compiled by
/// nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SPARSE_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SPARSE_KERNELS_INC_H_

#include "compressors/cuda/kernels/codec_kernels.h"
#include "compressors/cuda/kernels/index_layout.h"
#include "compressors/cuda/kernels/launch.h"
#include "compressors/cuda/kernels/shortlist.h"
#include "compressors/cuda/kernels/sparse_jobs.h"
#include "compressors/sparse/element.h"
#include "kernels/philox.h"

namespace goss::compressors::cuda {

/// Counts the picked elements of each chunk.
struct CountKernel {
  using Job = CollectJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return pickChunks(job.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t chunk, unsigned char*) {
    const std::uint32_t threshold = job.state->threshold;
    const bool listed = listedIn(job.list, *job.state) != 0;
    PerLane<std::uint32_t> above, equal;
    Warp::each([&](unsigned lane) {
      std::uint32_t more = 0, same = 0;
      const auto count_one = [&](float value, bool there) {
        const std::uint32_t magnitude = magnitudeBits(value);
        more += there && magnitude > threshold ? 1u : 0u;
        same += there && magnitude == threshold ? 1u : 0u;
      };
      if (listed) {
        const ChunkCandidates here = job.list.chunks[chunk];
        for (std::uint32_t i = lane; i < here.count; i += kWarpLanes) {
          count_one(job.list.listed[here.first + i].value, true);
        }
      } else {
        const std::size_t end = job.count < (chunk + 1) * kPickElems ? job.count : (chunk + 1) * kPickElems;
        eachFloat4(job.values, chunk * kPickElems, end, lane, [&](const Float4& four, std::size_t, std::size_t some) {
          GOSS_UNROLL
          for (unsigned k = 0; k < 4; ++k) {
            count_one(four.value[k], k < some);
          }
        });
      }
      above[lane] = more;
      equal[lane] = same;
    });
    const std::uint32_t all_above = Warp::countBefore(above), all_equal = Warp::countBefore(equal);
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        job.counts[chunk] = {all_above, all_equal};
      }
    });
  }
};

/// Number of picked elements before a position with so many larger and equal magnitudes before it.
GOSS_DEVICE std::uint32_t heldBefore(const PickCounts& counts, std::uint32_t ties) {
  return counts.above + (counts.equal < ties ? counts.equal : ties);
}

GOSS_DEVICE std::uint32_t heldBefore(const PickCounts& counts, const PickState& state) {
  const std::uint32_t held = heldBefore(counts, state.ties);
  return held < state.limit ? held : state.limit;
}

/// Turns the counts of chunks into prefix sums, and writes how many elements are picked, in all and in each index tile.
struct PlaceKernel {
  using Job = CollectJob;
  struct Share {
    PickCounts of[kPlaceShare];
  };
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    const std::size_t chunks = pickChunks(job.count);
    PickCounts done = {0, 0};
    for (std::size_t base = 0; base < chunks; base += kWarpLanes * kPlaceShare) {
      PerLane<Share> share;
      PerLane<std::uint32_t> above, equal;
      Warp::each([&](unsigned lane) {
        above[lane] = equal[lane] = 0;
        GOSS_UNROLL
        for (unsigned i = 0; i < kPlaceShare; ++i) {
          const std::size_t at = base + lane * kPlaceShare + i;
          const PickCounts own = at < chunks ? job.counts[at] : PickCounts{0, 0};
          share[lane].of[i] = own;
          above[lane] += own.above;
          equal[lane] += own.equal;
        }
      });
      const std::uint32_t all_above = Warp::countBefore(above), all_equal = Warp::countBefore(equal);
      Warp::each([&](unsigned lane) {
        PickCounts before = {done.above + above[lane], done.equal + equal[lane]};
        GOSS_UNROLL
        for (unsigned i = 0; i < kPlaceShare; ++i) {
          const std::size_t at = base + lane * kPlaceShare + i;
          if (at < chunks) {
            job.counts[at] = before;
          }
          before = {before.above + share[lane].of[i].above, before.equal + share[lane].of[i].equal};
        }
      });
      done = {done.above + all_above, done.equal + all_equal};
    }
    const PickState state = *job.state;
    const std::uint32_t held = heldBefore(done, state);
    const IndexLayout layout = indexLayout(job.count, held, job.indices != nullptr);
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        job.counts[chunks] = done;
        *job.inner = {held, 4 + static_cast<std::uint32_t>(layout.bytes)};
        storeFloatBytes(job.head, bitCast<float>(held));
      }
    });
    Warp::sync();
    if (layout.marks) {
      return;
    }
    constexpr std::size_t kTileChunks = kIndexTile / kPickElems;
    Warp::each([&](unsigned lane) {
      for (std::size_t tile = lane; tile * kIndexTile < job.count; tile += kWarpLanes) {
        const std::size_t next = (tile + 1) * kTileChunks < chunks ? (tile + 1) * kTileChunks : chunks;
        const std::uint32_t some =
            heldBefore(job.counts[next], state) - heldBefore(job.counts[tile * kTileChunks], state);
        storeFloatBytes(job.head + 4 + tile * 4, bitCast<float>(some));
      }
    });
  }
};

/// Writes indices and values of a chunk, in order: row by row of 32 elements, each lane one element.
struct CollectKernel {
  using Job = CollectJob;
  static constexpr unsigned kRows = 16; ///< Rows that are loaded together.
  static constexpr std::size_t kMapWords = kPickElems / 32;
  struct Rows {
    float value[kRows];
  };
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return pickChunks(job.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t chunk, unsigned char* shared) {
    const PickState state = *job.state;
    const bool bitmap = isBitmap(indexLayout(job.count, job.inner->count, job.indices != nullptr));
    if (listedIn(job.list, state) != 0) {
      collectListed(job, state, chunk, bitmap, reinterpret_cast<std::uint32_t*>(shared));
    } else {
      collect(job, state, chunk, bitmap);
    }
  }

 private:
  GOSS_DEVICE static void collect(const Job& job, const PickState& state, std::size_t chunk, bool bitmap) {
    PickCounts done = job.counts[chunk];
    const std::size_t first = chunk * kPickElems;
    const std::size_t end = job.count < first + kPickElems ? job.count : first + kPickElems;
    for (std::size_t at = first; at < end; at += kRows * kWarpLanes) {
      PerLane<Rows> rows;
      Warp::each([&](unsigned lane) {
        GOSS_UNROLL
        for (unsigned row = 0; row < kRows; ++row) {
          const std::size_t position = at + row * kWarpLanes + lane;
          rows[lane].value[row] = position < end ? job.values[position] : 0.0f;
        }
      });
      PerLane<std::uint32_t> maps; // lane l: bit map of the picked elements of row l
      Warp::each([&](unsigned lane) { maps[lane] = 0; });
      GOSS_UNROLL
      for (unsigned row = 0; row < kRows; ++row) {
        const std::size_t begin = at + row * kWarpLanes;
        PerLane<IndexedValue> own;
        Warp::each([&](unsigned lane) {
          own[lane] = {static_cast<std::uint32_t>(begin + lane), rows[lane].value[row]};
        });
        const std::uint32_t taken = takeRow(job, state, begin < end ? end - begin : 0, bitmap, own, done);
        Warp::each([&](unsigned lane) { maps[lane] = lane == row ? taken : maps[lane]; });
      }
      if (bitmap) {
        writeMaps(job, at, end, maps);
      }
    }
  }
  /// Collects from the list of the chunk's candidates instead of the vector. A bit map's part of this chunk is made in
  /// `words`, kMapWords of shared memory.
  GOSS_DEVICE static void collectListed(const Job& job, const PickState& state, std::size_t chunk, bool bitmap,
                                        std::uint32_t* words) {
    const ChunkCandidates here = job.list.chunks[chunk];
    PickCounts done = job.counts[chunk];
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < kMapWords; i += kWarpLanes) {
        words[i] = 0;
      }
    });
    Warp::sync();
    for (std::uint32_t at = 0; at < here.count; at += kWarpLanes) {
      PerLane<IndexedValue> own;
      Warp::each([&](unsigned lane) {
        own[lane] = at + lane < here.count ? job.list.listed[here.first + at + lane] : IndexedValue{0, 0};
      });
      const std::uint32_t taken = takeRow(job, state, here.count - at, bitmap, own, done);
      Warp::each([&](unsigned lane) {
        if ((taken >> lane & 1u) != 0) { // each bit is set once, so that adding sets it
          const auto bit = static_cast<unsigned>(own[lane].index % kPickElems);
          atomicAdd32(words + bit / 32, 1u << bit % 32);
        }
      });
    }
    Warp::sync();
    const std::size_t first = chunk * (kPickElems / 8), bytes = bitmapBytes(job.count);
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; bitmap && i < kPickElems / 8 && first + i < bytes; i += kWarpLanes) {
        job.head[4 + first + i] = static_cast<unsigned char>(words[i / 4] >> (8 * (i % 4)));
      }
    });
  }
  /// Takes a row's first `some` lanes: returns which are picked, and counts them.
  GOSS_DEVICE static std::uint32_t takeRow(const Job& job, const PickState& state, std::size_t some, bool bitmap,
                                           PerLane<IndexedValue>& row, PickCounts& done) {
    PerLane<std::uint32_t> larger, same;
    Warp::each([&](unsigned lane) {
      const std::uint32_t magnitude = magnitudeBits(row[lane].value);
      larger[lane] = lane < some && magnitude > state.threshold ? 1u : 0u;
      same[lane] = lane < some && magnitude == state.threshold ? 1u : 0u;
    });
    const std::uint32_t above = Warp::ballot(larger), equal = Warp::ballot(same);
    if ((above | equal) == 0) {
      return 0;
    }
    PerLane<std::uint32_t> takes;
    Warp::each([&](unsigned lane) {
      const std::uint32_t lower = (1u << lane) - 1;
      const PickCounts before = {done.above + onesIn(above & lower), done.equal + onesIn(equal & lower)};
      const std::uint32_t position = heldBefore(before, state.ties);
      const bool tie = (equal >> lane & 1u) != 0 && before.equal < state.ties;
      takes[lane] = ((above >> lane & 1u) != 0 || tie) && position < state.limit ? 1u : 0u;
      if (takes[lane] != 0) {
        job.picked[position] = row[lane].value;
        if (job.indices != nullptr) {
          job.indices[position] = row[lane].index;
        } else if (!bitmap) {
          unsigned char* local =
              job.head + 4 + (job.count + kIndexTile - 1) / kIndexTile * 4 + 2 * std::size_t{position};
          const auto index = row[lane].index % static_cast<std::uint32_t>(kIndexTile);
          local[0] = static_cast<unsigned char>(index);
          local[1] = static_cast<unsigned char>(index >> 8);
        }
      }
    });
    done = {done.above + onesIn(above), done.equal + onesIn(equal)};
    return Warp::ballot(takes);
  }
  GOSS_DEVICE static void writeMaps(const Job& job, std::size_t at, std::size_t end, PerLane<std::uint32_t>& maps) {
    Warp::each([&](unsigned lane) {
      const std::size_t first = at + lane * kWarpLanes;
      for (unsigned byte = 0; byte < 4 && lane < kRows && first + 8 * byte < end; ++byte) {
        job.head[4 + first / 8 + byte] = static_cast<unsigned char>(maps[lane] >> (8 * byte));
      }
    });
  }
};

/// Packs the indices that the collecting kernel has left: each lane makes whole bytes, from the numbers that reach into
/// them, or for the upper parts from those whose bit lies in them.
struct PackKernel {
  using Job = CollectJob;
  static constexpr std::size_t kBytes = 512; ///< A warp writes so many bytes.
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) {
    return job.indices == nullptr ? 0 : (PackedIndices(job.count, job.most).bytes + kBytes - 1) / kBytes;
  }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    const std::uint32_t held = job.inner->count;
    const PackedIndices packed(job.count, held);
    if (packed.is_bitmap) {
      return;
    }
    Warp::each([&](unsigned lane) {
      const std::size_t end = packed.bytes < (warp + 1) * kBytes ? packed.bytes : (warp + 1) * kBytes;
      for (std::size_t at = warp * kBytes + lane; at < end; at += kWarpLanes) {
        job.head[4 + at] = at < packed.low_bytes ? lowerByte(job.indices, held, packed.low_bits, at)
                                                 : upperByte(job.indices, held, packed.low_bits, at - packed.low_bytes);
      }
    });
  }

 private:
  GOSS_DEVICE static unsigned char lowerByte(const std::uint32_t* indices, std::uint32_t held, std::size_t bits,
                                             std::size_t at) {
    std::uint64_t byte = 0;
    for (std::size_t i = at * 8 / bits; i < held && i * bits < at * 8 + 8; ++i) {
      const std::uint64_t number = indices[i] & ((std::uint64_t{1} << bits) - 1);
      byte |= i * bits < at * 8 ? number >> (at * 8 - i * bits) : number << (i * bits - at * 8);
    }
    return static_cast<unsigned char>(byte);
  }
  GOSS_DEVICE static unsigned char upperByte(const std::uint32_t* indices, std::uint32_t held, std::size_t bits,
                                             std::size_t at) {
    const auto place = [&](std::uint32_t i) { return (std::size_t{indices[i]} >> bits) + i; };
    std::uint32_t first = 0, beyond = held; // the first number whose bit does not lie before the byte
    while (first < beyond) {
      const std::uint32_t middle = first + (beyond - first) / 2;
      const bool before = place(middle) < at * 8;
      first = before ? middle + 1 : first;
      beyond = before ? beyond : middle;
    }
    unsigned byte = 0;
    for (std::uint32_t i = first; i < held && place(i) < at * 8 + 8; ++i) {
      byte |= 1u << (place(i) - at * 8);
    }
    return static_cast<unsigned char>(byte);
  }
};

struct ClearKernel {
  using Job = ClearJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kPickElems - 1) / kPickElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    Warp::each([&](unsigned lane) {
      const std::size_t end = job.count < (warp + 1) * kPickElems ? job.count : (warp + 1) * kPickElems;
      for (std::size_t i = warp * kPickElems + lane * 4; i < end; i += kRunElems) {
        storeFloat4(job.out + i, {{0, 0, 0, 0}}, end - i);
        for (unsigned k = 0; k < 4 && job.senders != nullptr && i + k < end; ++k) {
          job.senders[i + k] = 0;
        }
      }
    });
  }
};

struct ShareKernel {
  using Job = ShareJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kWarpLanes - 1) / kWarpLanes; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    Warp::each([&](unsigned lane) {
      const std::size_t i = warp * kWarpLanes + lane;
      if (i < job.count) {
        job.out[i] = job.senders[i] == 0 ? 0.0f : job.out[i] / static_cast<float>(job.senders[i]);
      }
    });
  }
};

struct FillJob {
  float* to;
  float value;
  std::size_t count;
};
struct FillKernel {
  using Job = FillJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kRunElems - 1) / kRunElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    Warp::each([&](unsigned lane) {
      const std::size_t first = warp * kRunElems + lane * 4;
      if (first < job.count) {
        storeFloat4(job.to + first, {{job.value, job.value, job.value, job.value}}, job.count - first);
      }
    });
  }
};

struct ForgetJob {
  float* values;
  std::size_t count;
};
struct ForgetKernel {
  using Job = ForgetJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kRunElems - 1) / kRunElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    Warp::each([&](unsigned lane) {
      for (std::size_t i = warp * kRunElems + lane; i < (warp + 1) * kRunElems && i < job.count; i += kWarpLanes) {
        if (finiteOrZero(job.values[i]) != job.values[i]) { // NaN differs from itself
          job.values[i] = 0;
        }
      }
    });
  }
};

/// First element of a run's chosen block, as on the CPU.
GOSS_DEVICE std::size_t chosenBlock(const BlocksJob& job, std::size_t run) {
  const std::size_t begin = run * job.blocks / job.chosen, end = (run + 1) * job.blocks / job.chosen;
  const kernels::Random128 random = kernels::philox(job.key, job.first_element + begin * job.block);
  const std::uint64_t draw = random.word0 | static_cast<std::uint64_t>(random.word1 & 0x7fffu) << 32;
  return (begin + static_cast<std::size_t>(((draw >> 15) * (end - begin)) >> 32)) * job.block;
}

struct GatherBlocksKernel {
  using Job = BlocksJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return job.chosen; }
  GOSS_DEVICE static void run(const Job& job, std::size_t run, unsigned char*) {
    const std::size_t first = chosenBlock(job, run);
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < job.block; i += kWarpLanes) {
        job.out[run * job.block + i] = first + i < job.count ? job.values[first + i] : 0.0f;
      }
    });
  }
};

struct DeliverBlocksKernel {
  using Job = BlocksJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return job.chosen; }
  GOSS_DEVICE static void run(const Job& job, std::size_t run, unsigned char*) {
    const std::size_t first = chosenBlock(job, run);
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < job.block && first + i < job.count; i += kWarpLanes) {
        if (job.clears) {
          job.out[first + i] = 0;
          continue;
        }
        const float value = job.values[run * job.block + i];
        const bool weighted = job.delivery.mode == DecodeMode::axpy;
        float* to = job.out + first + i;
        const float sum = *to + (weighted ? job.delivery.weight * value : value);
        *to = job.finite ? finiteOrZero(sum) : kernels::canonical(sum);
        if (job.senders != nullptr) {
          ++job.senders[first + i];
        }
      }
    });
  }
};

int launchCollect(const CollectJob& job, Stream stream) {
  int code = launch<CountKernel>(job, 0, stream);
  code = code != 0 ? code : launch<PlaceKernel>(job, 0, stream);
  code = code != 0 ? code : launch<CollectKernel>(job, CollectKernel::kMapWords * sizeof(std::uint32_t), stream);
  return code != 0 ? code : launch<PackKernel>(job, 0, stream);
}
int launchClear(const ClearJob& job, Stream stream) { return launch<ClearKernel>(job, 0, stream); }
int launchShare(const ShareJob& job, Stream stream) { return launch<ShareKernel>(job, 0, stream); }
int launchForget(float* values, std::size_t count, Stream stream) {
  return launch<ForgetKernel>({values, count}, 0, stream);
}
int launchFill(float* to, float value, std::size_t count, Stream stream) {
  return launch<FillKernel>({to, value, count}, 0, stream);
}
int launchGatherBlocks(const BlocksJob& job, Stream stream) { return launch<GatherBlocksKernel>(job, 0, stream); }
int launchDeliverBlocks(const BlocksJob& job, Stream stream) { return launch<DeliverBlocksKernel>(job, 0, stream); }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_SPARSE_KERNELS_INC_H_
