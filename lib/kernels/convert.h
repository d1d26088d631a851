/// Conversions between any two dtypes, compiled once; the frequent ones have faster loops in the tables.
#ifndef GOSS_LIB_KERNELS_CONVERT_H_
#define GOSS_LIB_KERNELS_CONVERT_H_

#include <cstddef>

#include "gossamer/types.h"

namespace goss::kernels {

/// Bytes of one element.
std::size_t elementBytes(DType dtype);

/// As convert() in kernels.h.
void convertAny(DType to, void* dst, DType from, const void* src, std::size_t count);

} // namespace goss::kernels

#endif // GOSS_LIB_KERNELS_CONVERT_H_
