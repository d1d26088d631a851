#include "compressors/cuda/kernels/scatter_kernels.inc.h"
