/// Arguments of the compiled loops: plain structs, so that the files compiled for one instruction set share no inline
/// code with the rest.
#ifndef GOSS_COMPRESSORS_COMMON_RUNS_H_
#define GOSS_COMPRESSORS_COMMON_RUNS_H_

#include <cstddef>
#include <cstdint>

#include "gossamer/decode_mode.h"
#include "gossamer/random.h"

namespace goss::compressors {

/// Elements that loops hold in the first-level cache at a time; a multiple of every block size.
inline constexpr std::size_t kTileElems = 4096;

/// Encodes `count` elements from element `first` of a payload of `total` elements on. `first` is a multiple of
/// kTileElems.
struct EncodeRun {
  const float* values = nullptr;    ///< Begins at element `first`, as do reference and residual.
  const float* reference = nullptr; ///< May be null.
  float* residual = nullptr;        ///< May be null.
  float decay = 1;
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t total = 0;
  unsigned char* payload = nullptr;
  StreamKey key;                  ///< Private stream.
  std::uint64_t random_first = 0; ///< The private stream's number for element `first`.
  bool feedback = false;          ///< The encode has error feedback: codecs that do not contract scale down.
  /// The values are sums of a merge: their NaNs, which differ between processors, are encoded as one.
  bool sums = false;
};

/// How decoded values reach their place: set, add or axpy.
struct Delivery {
  DecodeMode mode = DecodeMode::set;
  float weight = 1;
};

/// Decodes the same elements of one payload.
struct DecodeRun {
  const unsigned char* payload = nullptr;
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t total = 0;
  float* out = nullptr; ///< Begins at element `first`.
  Delivery delivery;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_RUNS_H_
