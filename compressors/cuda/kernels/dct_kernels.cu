#include "compressors/cuda/kernels/dct_kernels.inc.h"
