#include "compressors/cuda/float_kernels.inc.h"
