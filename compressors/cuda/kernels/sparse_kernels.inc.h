/// Kernels of the sparsifiers: collecting elements in order, scattering them back, and blocks that the shared stream
/// chooses. Compiled by nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SPARSE_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SPARSE_KERNELS_INC_H_

#include "compressors/cuda/kernels/codec_kernels.h"
#include "compressors/cuda/kernels/launch.h"
#include "compressors/cuda/kernels/shortlist.h"
#include "compressors/cuda/kernels/sparse_jobs.h"
#include "compressors/sparse/element.h"
#include "compressors/sparse/index_set.h"
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

/// Chunks whose counts each lane of the one adding warp loads at a time: loading one would wait for memory at each
/// step.
inline constexpr unsigned kPlaceShare = 16;

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
    Warp::each([&](unsigned lane) {
      if (lane == 0) {
        job.counts[chunks] = done;
        *job.inner = {held, 4 + static_cast<std::uint32_t>(indexBytes(job.count, held))};
        storeFloatBytes(job.head, bitCast<float>(held));
      }
    });
    Warp::sync();
    if (isBitmap(job.count, held)) {
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
    const bool bitmap = isBitmap(job.count, job.inner->count);
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
        PerLane<Candidate> own;
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
      PerLane<Candidate> own;
      Warp::each([&](unsigned lane) {
        own[lane] = at + lane < here.count ? job.list.listed[here.first + at + lane] : Candidate{0, 0};
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
                                           PerLane<Candidate>& row, PickCounts& done) {
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
        if (!bitmap) {
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
        *job.inner = {held, 4 + static_cast<std::uint32_t>(indexBytes(job.count, held))};
      }
    });
  }
};

GOSS_DEVICE std::uint32_t heldOf(const IndexJob& job) { return job.inner != nullptr ? job.inner->count : job.held; }
/// Whether the payload may be a bit map: where only the device knows its form, both are handled.
GOSS_HOST_DEVICE bool mayBeBitmap(const IndexJob& job) { return job.inner != nullptr || isBitmap(job.count, job.held); }

/// Counts the held elements of each chunk of a bit map.
struct IndexCountKernel {
  using Job = IndexJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return mayBeBitmap(job) ? pickChunks(job.count) : 0; }
  GOSS_DEVICE static void run(const Job& job, std::size_t chunk, unsigned char*) {
    if (!isBitmap(job.count, heldOf(job))) {
      return;
    }
    PerLane<std::uint32_t> held;
    Warp::each([&](unsigned lane) {
      std::uint32_t sum = 0;
      const std::size_t bytes = bitmapBytes(job.count), first = chunk * kPickElems / 8;
      for (std::size_t i = first + lane; i < first + kPickElems / 8 && i < bytes; i += kWarpLanes) {
        sum += bitsIn(job.indices[i]);
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
    const bool bitmap = isBitmap(job.count, heldOf(job));
    const std::size_t groups = bitmap ? pickChunks(job.count) : (job.count + kIndexTile - 1) / kIndexTile;
    std::uint32_t done = 0;
    for (std::size_t base = 0; base < groups; base += kWarpLanes * kPlaceShare) {
      PerLane<Share> share;
      PerLane<std::uint32_t> held;
      Warp::each([&](unsigned lane) {
        held[lane] = 0;
        GOSS_UNROLL
        for (unsigned i = 0; i < kPlaceShare; ++i) {
          const std::size_t at = base + lane * kPlaceShare + i;
          share[lane].of[i] = at >= groups ? 0u : bitmap ? job.counts[at] : loadWordBytes(job.indices + 4 * at);
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
    return mayBeBitmap(job.index) ? pickChunks(job.index.count) : (job.index.held + kPickElems - 1) / kPickElems;
  }
  GOSS_DEVICE static void run(const Job& job, std::size_t chunk, unsigned char*) {
    if (isBitmap(job.index.count, heldOf(job.index))) {
      scatterBitmap(job, chunk);
    } else {
      scatterLocal(job, chunk);
    }
  }

 private:
  GOSS_DEVICE static void scatterBitmap(const Job& job, std::size_t chunk) {
    std::uint32_t done = job.index.counts[chunk];
    const std::size_t bytes = bitmapBytes(job.index.count), first = chunk * kBytesOfChunk;
    for (std::size_t at = first; at < first + kBytesOfChunk && at < bytes; at += kWarpLanes) {
      PerLane<std::uint32_t> held;
      Warp::each([&](unsigned lane) { held[lane] = at + lane < bytes ? bitsIn(job.index.indices[at + lane]) : 0u; });
      const std::uint32_t all = Warp::countBefore(held);
      Warp::each([&](unsigned lane) {
        std::uint32_t position = done + held[lane];
        for (unsigned bit = 0; bit < 8 && at + lane < bytes; ++bit) {
          if ((job.index.indices[at + lane] >> bit & 1u) != 0) {
            scatterOne(job, (at + lane) * 8 + bit, position++);
          }
        }
      });
      done += all;
    }
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

int launchHeld(const HeldJob& job, Stream stream) { return launch<HeldKernel>(job, 0, stream); }
int launchCollect(const CollectJob& job, Stream stream) {
  int code = launch<CountKernel>(job, 0, stream);
  code = code != 0 ? code : launch<PlaceKernel>(job, 0, stream);
  return code != 0 ? code : launch<CollectKernel>(job, CollectKernel::kMapWords * sizeof(std::uint32_t), stream);
}
int launchIndex(const IndexJob& job, Stream stream) {
  const int code = launch<IndexCountKernel>(job, 0, stream);
  return code != 0 ? code : launch<IndexPlaceKernel>(job, 0, stream);
}
int launchScatter(const ScatterJob& job, Stream stream) { return launch<ScatterKernel>(job, 0, stream); }
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
