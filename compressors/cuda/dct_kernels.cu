#include "compressors/cuda/dct_kernels.inc.h"
