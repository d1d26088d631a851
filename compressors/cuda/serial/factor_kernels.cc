#include "compressors/cuda/factor_kernels.inc.h"
