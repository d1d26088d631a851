/// Kernels of the chunked cosine transform: a warp transforms four chunks at a time (more of short ones), so that each
/// read of the basis serves all of them. Compiled by nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_DCT_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_DCT_KERNELS_INC_H_

#include "compressors/cuda/kernels/codec_kernels.h"
#include "compressors/cuda/kernels/dct_jobs.h"
#include "compressors/cuda/kernels/launch.h"
#include "compressors/dct/element.h"

namespace goss::compressors::cuda {

inline constexpr std::size_t kDctTogether = 4; ///< Chunks that one lane transforms at a time.

/// How a warp is cut: chunks of fewer than 32 elements share it.
struct DctShape {
  std::size_t chunk;
  std::size_t lanes;  ///< Lanes that share one set of kDctTogether chunks.
  std::size_t chunks; ///< Chunks of the warp.

  GOSS_DEVICE explicit DctShape(std::size_t of)
      : chunk(of), lanes(of < kWarpLanes ? of : kWarpLanes), chunks(kDctTogether * (kWarpLanes / lanes)) {}
  GOSS_DEVICE std::size_t elems() const { return chunk * chunks; }
  /// Where element `within` of the warp's chunk `which` lies: four chunks side by side.
  GOSS_DEVICE std::size_t position(std::size_t which, std::size_t within) const {
    return (which / kDctTogether * chunk + within) * kDctTogether + which % kDctTogether;
  }
};

constexpr std::size_t dctChunks(std::size_t count, std::size_t chunk) { return (count + chunk - 1) / chunk; }
/// Floats that a warp holds twice in shared memory.
constexpr std::size_t dctSharedElems(std::size_t chunk) {
  return kDctTogether * (chunk < kWarpLanes ? std::size_t{kWarpLanes} : chunk);
}
constexpr std::size_t dctWarps(std::size_t count, std::size_t chunk) {
  const std::size_t together = dctSharedElems(chunk) / chunk;
  return (dctChunks(count, chunk) + together - 1) / together;
}

struct DctBasisKernel {
  using Job = DctBasisJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) {
    return (job.table.chunk * job.table.chunk + kWarpLanes - 1) / kWarpLanes;
  }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char*) {
    Warp::each([&](unsigned lane) {
      const std::size_t chunk = job.table.chunk, i = warp * kWarpLanes + lane;
      if (i < chunk * chunk) {
        const std::size_t row = i / chunk, column = i % chunk;
        job.basis[i] = job.transposed ? dctBasis(job.table, column, row) : dctBasis(job.table, row, column);
      }
    });
  }
};

/// Calls use(lane, which, c, sum) for each element of the warp's chunks times the basis: the sum over ascending j of
/// in[j] * basis[j * chunk + c], as on the CPU.
template <typename Use>
GOSS_DEVICE void dctTransform(const DctShape& shape, const float* in, const float* basis, Use use) {
  for (std::size_t base = 0; base < shape.chunk; base += shape.lanes) {
    Warp::each([&](unsigned lane) {
      const std::size_t set = lane / shape.lanes, c = base + lane % shape.lanes;
      const auto* from = reinterpret_cast<const Float4*>(in) + set * shape.chunk;
      Float4 sums = {{0, 0, 0, 0}};
      for (std::size_t j = 0; j < shape.chunk; ++j) {
        const float row = basis[j * shape.chunk + c];
        const Float4 values = from[j];
        GOSS_UNROLL
        for (unsigned k = 0; k < kDctTogether; ++k) {
          sums.value[k] = sums.value[k] + row * values.value[k];
        }
      }
      GOSS_UNROLL
      for (unsigned k = 0; k < kDctTogether; ++k) {
        use(set * kDctTogether + k, c, sums.value[k]);
      }
    });
  }
}

/// Picks the largest magnitudes of one chunk, of equal ones the first. kColumns: coefficients for each lane.
template <unsigned kColumns>
struct DctPicker {
  struct Magnitudes {
    std::uint32_t of[kColumns];
  };
  PerLane<Magnitudes> magnitudes;
  std::size_t chunk, keep;

  GOSS_DEVICE void load(const DctShape& shape, std::size_t which, const float* coefficients) {
    Warp::each([&](unsigned lane) {
      GOSS_UNROLL
      for (unsigned i = 0; i < kColumns; ++i) {
        const std::size_t c = i * kWarpLanes + lane;
        const float value = c < chunk ? coefficients[shape.position(which, c)] : 0.0f;
        magnitudes[lane].of[i] = bitCast<std::uint32_t>(value) & 0x7fffffffu;
      }
    });
  }
  /// Ballot of the lanes whose coefficient of column `i` is at least `least` (exact: equal to `least`).
  GOSS_DEVICE std::uint32_t ask(unsigned i, std::uint32_t least, bool exact) {
    PerLane<std::uint32_t> yes;
    Warp::each([&](unsigned lane) {
      const std::uint32_t own = magnitudes[lane].of[i];
      const bool there = i * kWarpLanes + lane < chunk;
      yes[lane] = there && (exact ? own == least : own >= least) ? 1u : 0u;
    });
    return Warp::ballot(yes);
  }
  GOSS_DEVICE std::uint32_t reached(std::uint32_t least) {
    std::uint32_t sum = 0;
    GOSS_UNROLL
    for (unsigned i = 0; i < kColumns; ++i) {
      sum += onesIn(ask(i, least, false));
    }
    return sum;
  }
  /// The largest number that at least `keep` magnitudes reach, or one that exactly `keep` reach.
  GOSS_DEVICE std::uint32_t threshold() {
    std::uint32_t found = 0;
    for (std::uint32_t bit = 1u << 30; bit != 0; bit >>= 1) {
      const std::uint32_t some = reached(found | bit);
      found = some >= keep ? found | bit : found;
      if (some == keep) {
        break;
      }
    }
    return found;
  }
  /// Calls use(c, place) for the picked coefficients, ascending.
  template <typename Use>
  GOSS_DEVICE void pick(Use use) {
    const std::uint32_t least = threshold();
    std::uint32_t ties = static_cast<std::uint32_t>(keep) - reached(least + 1), taken = 0;
    GOSS_UNROLL
    for (unsigned i = 0; i < kColumns; ++i) {
      const std::uint32_t above = ask(i, least + 1, false), equal = ask(i, least, true);
      Warp::each([&](unsigned lane) {
        const std::uint32_t before = (1u << lane) - 1, ties_before = onesIn(equal & before);
        const bool tie = (equal >> lane & 1u) != 0 && ties_before < ties;
        if ((above >> lane & 1u) != 0 || tie) {
          use(i * kWarpLanes + lane, taken + onesIn(above & before) + (ties_before < ties ? ties_before : ties));
        }
      });
      const std::uint32_t equals = onesIn(equal), some = equals < ties ? equals : ties;
      taken += onesIn(above) + some;
      ties -= some;
    }
  }
};

template <unsigned kColumns>
struct DctEncodeKernel {
  using Job = DctEncodeJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return dctWarps(job.count, job.chunk); }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char* shared) {
    const DctShape shape(job.chunk);
    auto* in = reinterpret_cast<float*>(shared);
    float* out = in + shape.elems();
    const std::size_t first = warp * shape.chunks, chunks = dctChunks(job.count, job.chunk);
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane * 4; i < shape.elems(); i += kRunElems) {
        const std::size_t at = first * job.chunk + i, left = at < job.count ? job.count - at : 0;
        const Float4 four = left != 0 ? loadFloat4(job.values + at, left) : Float4{{0, 0, 0, 0}};
        GOSS_UNROLL
        for (unsigned k = 0; k < 4; ++k) {
          in[shape.position(i / job.chunk, i % job.chunk + k)] = four.value[k];
        }
      }
    });
    Warp::sync();
    dctTransform(shape, in, job.basis,
                 [&](std::size_t which, std::size_t c, float sum) { out[shape.position(which, c)] = sum; });
    Warp::sync();
    for (std::size_t which = 0; which < shape.chunks && first + which < chunks; ++which) {
      writeChunk(job, shape, which, first + which, in, out);
    }
  }

 private:
  GOSS_DEVICE static void writeChunk(const Job& job, const DctShape& shape, std::size_t which, std::size_t position,
                                     const float* in, const float* coefficients) {
    PerLane<std::uint32_t> peak;
    Warp::each([&](unsigned lane) {
      std::uint32_t largest = 0;
      for (std::size_t j = lane; j < job.chunk; j += kWarpLanes) {
        const std::uint32_t key = peakKey(in[shape.position(which, j)]);
        largest = key > largest ? key : largest;
      }
      peak[lane] = largest >= kPeakNotFinite ? 1u : 0u;
    });
    const bool finite = Warp::ballot(peak) == 0; // the order of a sum decides which NaN it gives
    unsigned char* indices = job.payload + position * job.keep;
    unsigned char* values =
        job.payload + dctChunks(job.count, job.chunk) * job.keep + position * job.keep * sizeof(float);
    DctPicker<kColumns> picker;
    picker.chunk = job.chunk;
    picker.keep = finite ? job.keep : 0;
    picker.load(shape, which, coefficients);
    if (finite) {
      picker.pick([&](std::size_t c, std::size_t k) {
        indices[k] = static_cast<unsigned char>(c);
        storeFloatBytes(values + k * sizeof(float), dctStored(coefficients[shape.position(which, c)]));
      });
      return;
    }
    Warp::each([&](unsigned lane) {
      for (std::size_t k = lane; k < job.keep; k += kWarpLanes) {
        indices[k] = static_cast<unsigned char>(k);
        storeFloatBytes(values + k * sizeof(float), bitCast<float>(kFloatNan));
      }
    });
  }
};

/// Decodes payload after payload; for a mean it first adds the coefficients of all payloads.
struct DctDecodeKernel {
  using Job = DctDecodeJob;
  GOSS_HOST_DEVICE static std::size_t warps(const Job& job) { return dctWarps(job.count, job.chunk); }
  GOSS_DEVICE static void run(const Job& job, std::size_t warp, unsigned char* shared) {
    const DctShape shape(job.chunk);
    auto* sums = reinterpret_cast<float*>(shared);
    auto* senders = reinterpret_cast<std::uint32_t*>(sums + shape.elems());
    const std::size_t first = warp * shape.chunks;
    if (job.mean) {
      begin(job, shape, first, sums, senders);
      for (unsigned p = 0; p < job.payload_count; ++p) {
        gather(job, shape, first, job.payloads[p], sums, senders);
      }
      finish(job, shape, first, sums, senders);
      if (job.last) {
        deliver(job, shape, first, sums, {DecodeMode::set, 1});
      }
      return;
    }
    Delivery delivery = job.delivery;
    for (unsigned p = 0; p < job.payload_count; ++p) {
      Warp::each([&](unsigned lane) {
        for (std::size_t i = lane; i < shape.elems(); i += kWarpLanes) {
          sums[i] = 0;
        }
      });
      Warp::sync();
      gather(job, shape, first, job.payloads[p], sums, nullptr);
      deliver(job, shape, first, sums, delivery);
      Warp::sync();
      delivery.mode = delivery.mode == DecodeMode::set ? DecodeMode::add : delivery.mode;
    }
  }

 private:
  /// Whether the warp's chunk `which` exists, and so has partial sums.
  GOSS_DEVICE static bool there(const Job& job, std::size_t chunk) { return chunk < dctChunks(job.count, job.chunk); }

  GOSS_DEVICE static void begin(const Job& job, const DctShape& shape, std::size_t first, float* sums,
                                std::uint32_t* senders) {
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < shape.elems(); i += kWarpLanes) {
        const std::size_t which = i / job.chunk, position = shape.position(which, i % job.chunk);
        const bool continues = !job.first && there(job, first + which);
        sums[position] = continues ? job.sums[first * job.chunk + i] : 0.0f;
        senders[position] = continues ? job.senders[first * job.chunk + i] : 0u;
      }
    });
    Warp::sync();
  }
  GOSS_DEVICE static void finish(const Job& job, const DctShape& shape, std::size_t first, float* sums,
                                 const std::uint32_t* senders) {
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < shape.elems(); i += kWarpLanes) {
        const std::size_t which = i / job.chunk, position = shape.position(which, i % job.chunk);
        if (!job.last && there(job, first + which)) {
          job.sums[first * job.chunk + i] = sums[position];
          job.senders[first * job.chunk + i] = senders[position];
        }
        sums[position] = senders[position] == 0 ? 0.0f : sums[position] / static_cast<float>(senders[position]);
      }
    });
    Warp::sync();
  }
  /// Adds a payload's coefficients. Indices of a payload that is right lie within the chunk, each once.
  GOSS_DEVICE static void gather(const Job& job, const DctShape& shape, std::size_t first, const unsigned char* payload,
                                 float* sums, std::uint32_t* senders) {
    const std::size_t chunks = dctChunks(job.count, job.chunk);
    Warp::each([&](unsigned lane) {
      for (std::size_t i = lane; i < shape.chunks * job.keep; i += kWarpLanes) {
        const std::size_t which = i / job.keep, entry = first * job.keep + i;
        if (!there(job, first + which) || payload[entry] >= job.chunk) {
          continue;
        }
        const std::size_t position = shape.position(which, payload[entry]);
        sums[position] = sums[position] + loadFloatBytes(payload + chunks * job.keep + entry * sizeof(float));
        if (senders != nullptr) {
          ++senders[position];
        }
      }
    });
    Warp::sync();
  }
  GOSS_DEVICE static void deliver(const Job& job, const DctShape& shape, std::size_t first, const float* sums,
                                  const Delivery& delivery) {
    dctTransform(shape, sums, job.basis, [&](std::size_t which, std::size_t c, float value) {
      const std::size_t at = (first + which) * job.chunk + c;
      if (at < job.count) {
        const float before = delivery.mode == DecodeMode::set ? 0.0f : job.out[at];
        const float share = delivery.mode == DecodeMode::axpy ? delivery.weight * value : value;
        job.out[at] = delivery.mode == DecodeMode::set ? value : before + share;
      }
    });
  }
};

int launchDctBasis(const DctBasisJob& job, Stream stream) { return launch<DctBasisKernel>(job, 0, stream); }

int launchDctEncode(const DctEncodeJob& job, Stream stream) {
  const std::size_t shared = 2 * dctSharedElems(job.chunk) * sizeof(float);
  switch (job.chunk) {
    case 64:
      return launch<DctEncodeKernel<2>>(job, shared, stream);
    case 128:
      return launch<DctEncodeKernel<4>>(job, shared, stream);
    case 256:
      return launch<DctEncodeKernel<8>>(job, shared, stream);
    default:
      return launch<DctEncodeKernel<1>>(job, shared, stream);
  }
}

int launchDctDecode(const DctDecodeJob& job, Stream stream) {
  return launch<DctDecodeKernel>(job, 2 * dctSharedElems(job.chunk) * sizeof(float), stream);
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_DCT_KERNELS_INC_H_
