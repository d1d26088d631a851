#include "compressors/cuda/scaled_kernels.inc.h"
