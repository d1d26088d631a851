#include "compressors/cuda/kernels/float_kernels.inc.h"
