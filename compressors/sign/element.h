/// Element functions of sign compression, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_SIGN_ELEMENT_H_
#define GOSS_COMPRESSORS_SIGN_ELEMENT_H_

#include "compressors/common/element.h"

namespace goss::compressors {

/// The scale of sign:norm=l2 with error feedback. A scale of two mean magnitudes or more loses at least as much as the
/// vector holds, and the root mean square of a sparse vector is many mean magnitudes. For a Gaussian the ratio is 1.25.
GOSS_HOST_DEVICE double keptRoot(double root, double mean_magnitude) {
  const double most = 1.5 * mean_magnitude;
  return root > most ? most : root; // a NaN stays a NaN
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SIGN_ELEMENT_H_
