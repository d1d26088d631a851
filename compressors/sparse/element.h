/// Element functions of the sparsifiers, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_SPARSE_ELEMENT_H_
#define GOSS_COMPRESSORS_SPARSE_ELEMENT_H_

#include "compressors/common/element.h"

namespace goss::compressors {

GOSS_HOST_DEVICE std::uint32_t magnitudeBits(float value) { return bitCast<std::uint32_t>(value) & 0x7fffffffu; }

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_ELEMENT_H_
