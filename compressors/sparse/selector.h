/// Which elements a sparsifier sends.
#ifndef GOSS_COMPRESSORS_SPARSE_SELECTOR_H_
#define GOSS_COMPRESSORS_SPARSE_SELECTOR_H_

#include <memory>
#include <string>

#include "compressors/sparse/format.h"
#include "gossamer/codec.h"

namespace goss::compressors {

/// Stateless and pure, as codecs are.
class Selector {
 public:
  virtual ~Selector() = default;
  [[nodiscard]] virtual std::string spec() const = 0;
  /// Upper bound of the number of elements selected of `count`.
  [[nodiscard]] virtual std::size_t most(std::size_t count) const = 0;
  /// Whether most(count) elements are selected always.
  [[nodiscard]] virtual bool takesMost() const { return false; }
  /// Indices that select() needs space for: it may write more than it then returns. At least most(count).
  [[nodiscard]] virtual std::size_t room(std::size_t count) const { return most(count); }
  /// Writes ascending indices, at most most(count), and returns how many.
  virtual std::size_t select(const float* values, std::size_t count, std::uint32_t* indices) const = 0;
  /// At least this share of |x|^2 is selected, for x of `count` elements, not counting magnitudes below passedOver().
  [[nodiscard]] virtual double share(std::size_t count) const = 0;
  [[nodiscard]] virtual double passedOver() const { return 0; }
  /// Selecting from a vector that is zero elsewhere selects the same elements, or zeros.
  [[nodiscard]] virtual bool stable() const = 0;
};

/// The k = ceil(ratio * count) largest magnitudes; of equal ones, the first (Aji and Heafield 2017, arXiv 1704.05021).
std::unique_ptr<const Selector> makeExactTopK(double ratio, const SparseLoops& loops);

/// About ceil(ratio * count) magnitudes: the threshold comes from a strided sample and is adapted a few times. Where no
/// threshold is found that between 4/5 k and k elements reach, exactly the k largest (Deep Gradient Compression, Lin et
/// al. 2018, arXiv 1712.01887, section 3, adapts it more often).
std::unique_ptr<const Selector> makeSampledTopK(double ratio, const SparseLoops& loops);

/// All magnitudes of at least `value` (Strom 2015).
std::unique_ptr<const Selector> makeThreshold(float value, const SparseLoops& loops);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_SELECTOR_H_
