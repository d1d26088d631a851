#include "compressors/cuda/kernels/scaled_kernels.inc.h"
