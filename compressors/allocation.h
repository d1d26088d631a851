/// Which codec each layer gets, so that as few bytes as possible are sent within an error budget (L-GreCo, Markov et
/// al. 2022, arXiv 2210.17357).
#ifndef GOSS_COMPRESSORS_ALLOCATION_H_
#define GOSS_COMPRESSORS_ALLOCATION_H_

#include <span>
#include <string>
#include <vector>

#include "gossamer/status.h"

namespace goss::compressors {

/// Size and error of a layer under one codec.
struct LayerOption {
  std::string spec;
  double bytes = 0;
  double error = 0; ///< ||x - decoded||^2; the sum over layers is the model's error.
};
using LayerOptions = std::vector<LayerOption>;

/// Encodes and decodes a layer's values with each codec. Allocates; not for the data path. GOSS_ERR_INVALID_ARGUMENT
/// for a spec that makeCompression() refuses or that has phases of its own. An infinite error stands for values that
/// are not finite.
Result<LayerOptions> measureLayer(std::span<const float> values, std::span<const std::string> specs);

/// One option for each layer: the fewest bytes whose errors sum up to at most `budget`, by dynamic programming over
/// budget / 10000ths as in the paper (errors are rounded up, so that the budget holds). GOSS_ERR_INVALID_ARGUMENT if
/// there is none. A pure function: ranks that give the same statistics, those of their summed gradients or of one rank,
/// choose the same.
Result<std::vector<std::size_t>> allocateWithinBudget(std::span<const LayerOptions> layers, double budget);

/// allocateWithinBudget() with the budget that option `uniform` needs in all layers, times `slack`. With slack >= 1 the
/// result never takes more bytes than option `uniform` everywhere.
Result<std::vector<std::size_t>> allocateAsUniform(std::span<const LayerOptions> layers, std::size_t uniform,
                                                   double slack = 1);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_ALLOCATION_H_
