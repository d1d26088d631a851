#include "compressors/cuda/sparse_kernels.inc.h"
