#include "compressors/cuda/kernels/factor_kernels.inc.h"
