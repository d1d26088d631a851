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

/// `count` elements, from element `first` of a payload of `total` elements on, are encoded. first is a multiple of
/// kTileElems.
struct EncodeRun {
  const float* values = nullptr;    ///< Of element `first`, as are reference and residual.
  const float* reference = nullptr; ///< Or null.
  float* residual = nullptr;        ///< Or null.
  float decay = 1;
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t total = 0;
  unsigned char* payload = nullptr;
  StreamKey key;                  ///< Private stream.
  std::uint64_t random_first = 0; ///< Its number for element `first`.
  bool feedback = false;          ///< What is lost is kept: codecs that do not contract scale down.
  bool sums = false;              ///< Of a merge: their NaNs, in which processors differ, are encoded as one.
};

/// How decoded values reach their place: set, add or axpy.
struct Delivery {
  DecodeMode mode = DecodeMode::set;
  float weight = 1;
};

/// The same elements of a payload are decoded.
struct DecodeRun {
  const unsigned char* payload = nullptr;
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t total = 0;
  float* out = nullptr; ///< Of element `first`.
  Delivery delivery;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_RUNS_H_
