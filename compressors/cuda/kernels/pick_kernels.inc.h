/// Kernels that search for the threshold of a sparsifier: the k-th largest magnitude by its digits, of all values or of
/// a sample. Compiled by nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_PICK_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_PICK_KERNELS_INC_H_

#include "compressors/cuda/kernels/codec_kernels.h"
#include "compressors/cuda/kernels/launch.h"
#include "compressors/cuda/kernels/shortlist.h"
#include "compressors/cuda/kernels/sparse_jobs.h"
#include "compressors/sparse/element.h"
#include "compressors/sparse/shortlist.h"

namespace goss::compressors::cuda {

GOSS_DEVICE std::uint32_t digitShift(int digit) { return digit == 0 ? 20u : digit == 1 ? 9u : 0u; }

struct BeginKernel {
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

GOSS_DEVICE bool isNeedless(const PickJob& job) { return job.unless_settled && job.state->settled != 0; }

/// Counts one digit of the magnitudes whose upper bits are known, in shared memory first: of the vector, of every
/// stride-th element, of groups evenly apart, or of the candidates.
struct HistogramKernel {
  using Job = PickJob;
  static constexpr std::size_t kElems = 8 * kPickElems;
  static constexpr std::size_t kGroupsOfWarp = 64;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) {
    return job.groups != 0 ? (job.groups + kGroupsOfWarp - 1) / kGroupsOfWarp : (job.count + kElems - 1) / kElems;
  }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char* shared) {
    const Part part = partOf(job, warp);
    if (part.first >= part.end || isNeedless(job)) {
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
      eachValue(job, part, lane, [&](float value) {
        const std::uint32_t magnitude = magnitudeBits(value);
        if ((magnitude & above) == prefix) {
          atomicAdd32(buckets + ((magnitude >> shift) & mask), 1);
        }
      });
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

 private:
  /// What one warp counts: candidates, groups or elements `first` to `end` - 1.
  struct Part {
    std::size_t first, end, stride;
    bool listed;
  };
  GOSS_DEVICE static Part partOf(const Job& job, std::size_t warp) {
    std::size_t count = job.groups, some = kGroupsOfWarp, stride = 1;
    const std::uint32_t listed = count != 0 ? 0u : listedIn(job.list, *job.state);
    if (listed != 0) { // candidates are spread evenly over as many warps as the vector would take
      count = listed;
      const std::size_t all = warps(job) * kRunElems;
      some = (count + all - 1) / all * kRunElems;
    } else if (count == 0) {
      stride = job.state->stride;
      count = (job.count + stride - 1) / stride;
      some = kElems;
    }
    const std::size_t first = warp * some;
    return {first, count < first + some ? count : first + some, stride, listed != 0};
  }
  template <typename Use>
  GOSS_DEVICE static void eachValue(const Job& job, const Part& part, unsigned lane, Use use) {
    const auto each_of = [&](const Float4& four, std::size_t, std::size_t some) {
      GOSS_UNROLL
      for (unsigned k = 0; k < 4; ++k) {
        if (k < some) {
          use(four.value[k]);
        }
      }
    };
    if (job.groups != 0) {
      static_assert(SamplePlan::kGroup == 16, "four lanes a group");
      GOSS_UNROLL
      for (unsigned i = 0; i < kGroupsOfWarp / 8; ++i) {
        const std::size_t group = part.first + 8 * i + lane / 4;
        if (group < part.end) {
          each_of(loadFloat4(job.values + group * job.apart + lane % 4 * 4, 4), 0, 4);
        }
      }
    } else if (part.listed) {
      for (std::size_t i = part.first + lane; i < part.end; i += kWarpLanes) {
        use(job.list.listed[i].value);
      }
    } else if (part.stride != 1) {
      for (std::size_t i = part.first + lane; i < part.end; i += kWarpLanes) {
        use(job.values[i * part.stride]);
      }
    } else {
      eachFloat4(job.values, part.first, part.end, lane, each_of);
    }
  }
};

/// Lists a chunk's candidates. The kernel first counts them, so that they lie side by side, and then reads the chunk
/// again from the cache.
struct ListKernel {
  using Job = ListJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return pickChunks(job.count); }
  GOSS_DEVICE static void run(const Job& job, std::size_t chunk, unsigned char*) {
    const std::uint32_t threshold = job.state->threshold;
    const std::size_t first = chunk * kPickElems;
    const std::size_t end = job.count < first + kPickElems ? job.count : first + kPickElems;
    PerLane<std::uint32_t> reached;
    Warp::each([&](unsigned lane) {
      std::uint32_t sum = 0;
      eachFloat4(job.values, first, end, lane, [&](const Float4& four, std::size_t, std::size_t some) {
        GOSS_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          sum += k < some && magnitudeBits(four.value[k]) >= threshold ? 1u : 0u;
        }
      });
      reached[lane] = sum;
    });
    const std::uint32_t all = Warp::countBefore(reached);
    PerLane<ChunkCandidates> own;
    Warp::each([&](unsigned lane) {
      own[lane] = {0, 0};
      if (lane == 0) {
        // Candidates beyond the end of the list are counted but not listed.
        const unsigned long long before = all == 0 ? 0 : atomicAdd64(&job.state->reached, all);
        if (before + all <= job.list.capacity) {
          own[lane] = {static_cast<std::uint32_t>(before), all};
        }
        job.list.chunks[chunk] = own[lane];
      }
    });
    const ChunkCandidates here = own.of(0);
    if (here.count != 0) {
      list(job, {first, end}, threshold, here.first);
    }
  }

 private:
  GOSS_DEVICE static void list(const Job& job, WarpRange chunk, std::uint32_t threshold, std::uint32_t done) {
    for (std::size_t at = chunk.first; at < chunk.end; at += kRunElems) {
      PerLane<Float4> fours;
      PerLane<std::uint32_t> before;
      Warp::each([&](unsigned lane) {
        const std::size_t position = at + lane * 4;
        fours[lane] =
            position < chunk.end ? loadFloat4(job.values + position, chunk.end - position) : Float4{{0, 0, 0, 0}};
        before[lane] = 0;
        GOSS_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          before[lane] += lists(fours[lane], k, position, chunk.end, threshold) ? 1u : 0u;
        }
      });
      const std::uint32_t all = Warp::countBefore(before);
      Warp::each([&](unsigned lane) {
        const std::size_t position = at + lane * 4;
        std::uint32_t to = done + before[lane];
        GOSS_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          if (lists(fours[lane], k, position, chunk.end, threshold)) {
            job.list.listed[to++] = {static_cast<std::uint32_t>(position + k), fours[lane].value[k]};
          }
        }
      });
      done += all;
    }
  }
  GOSS_DEVICE static bool lists(const Float4& four, unsigned k, std::size_t position, std::size_t end,
                                std::uint32_t threshold) {
    return position + k < end && magnitudeBits(four.value[k]) >= threshold;
  }
};

/// Finds the bucket of the wanted magnitude, and clears the histogram for the next digit.
struct BucketKernel {
  using Job = PickJob;
  static constexpr std::uint32_t kShare = kPickBuckets / kWarpLanes;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    if (isNeedless(job)) {
      return;
    }
    const std::uint32_t first = job.wanted != 0 ? job.wanted : job.state->wanted;
    const std::uint32_t wanted = job.digit == 0 ? first : job.state->ties;
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
      bool found = taken >= wanted; // an earlier lane found the bucket
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

/// Counts the magnitudes that reach the threshold, or those that are not finite.
struct SampleCountKernel {
  using Job = SampleJob;
  static constexpr std::size_t kElems = 8 * kPickElems;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return (job.count + kElems - 1) / kElems; }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    const bool overflows = job.step == SampleStep::findOverflows;
    if (!overflows && job.state->settled != 0) {
      return;
    }
    const std::uint32_t least = overflows ? kFloatInfinity : job.state->threshold;
    PerLane<std::uint32_t> reached;
    Warp::each([&](unsigned lane) {
      std::uint32_t sum = 0;
      const std::size_t end = job.count < (warp + 1) * kElems ? job.count : (warp + 1) * kElems;
      eachFloat4(job.values, warp * kElems, end, lane, [&](const Float4& four, std::size_t, std::size_t some) {
        GOSS_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          sum += k < some && magnitudeBits(four.value[k]) >= least ? 1u : 0u;
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

/// Adapts the search to the count.
struct SampleStepKernel {
  using Job = SampleJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job&) { return 1; }
  GOSS_DEVICE static void run(const Job& job, std::size_t, unsigned char*) {
    Warp::each([&](unsigned lane) {
      if (lane != 0) {
        return;
      }
      PickState& state = *job.state;
      // overflows must all be sent, even where more than `most` reach the threshold
      if (job.step == SampleStep::choose) {
        state.settled = state.reached != 0 ? 1u : 0u;
        searchFor(state, state.settled != 0 ? job.wanted : job.wanted_sampled, state.settled != 0 ? 1u : job.stride);
      } else if (state.settled == 0) {
        job.step == SampleStep::adapt ? adapt(state, job.wanted) : searchFor(state, job.wanted, 1);
      }
      state.reached = 0;
    });
  }

 private:
  GOSS_DEVICE static void searchFor(PickState& state, std::uint32_t wanted, std::uint32_t stride) {
    state.wanted = wanted;
    state.stride = stride;
  }
  /// A threshold of zero stays zero, and one that slightly too many reach is kept: then no later round settles the
  /// search.
  GOSS_DEVICE static void adapt(PickState& state, std::uint32_t most) {
    const auto verdict = SampledSearch::judge(state.reached, most);
    if (verdict == SampledSearch::Verdict::good && state.threshold != 0) {
      state.settled = 1;
      state.ties = ~0u;
    } else if (verdict == SampledSearch::Verdict::few) {
      state.threshold = magnitudeBits(bitCast<float>(state.threshold) * SampledSearch::kLower);
    } else if (verdict == SampledSearch::Verdict::many) {
      state.threshold = magnitudeBits(bitCast<float>(state.threshold) * SampledSearch::kRaise);
    }
  }
};

int launchBegin(const BeginJob& job, Stream stream) { return launch<BeginKernel>(job, 0, stream); }
int launchSample(const SampleJob& job, Stream stream) {
  const bool counts = job.step == SampleStep::findOverflows || job.step == SampleStep::count;
  return counts ? launch<SampleCountKernel>(job, 0, stream) : launch<SampleStepKernel>(job, 0, stream);
}
int launchPick(const PickJob& job, Stream stream) {
  const int code = launch<HistogramKernel>(job, kPickBuckets * sizeof(std::uint32_t), stream);
  return code != 0 ? code : launch<BucketKernel>(job, 0, stream);
}
int launchList(const ListJob& job, Stream stream) { return launch<ListKernel>(job, 0, stream); }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_PICK_KERNELS_INC_H_
