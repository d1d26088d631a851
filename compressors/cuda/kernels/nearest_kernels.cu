#include "compressors/cuda/kernels/nearest_kernels.inc.h"
