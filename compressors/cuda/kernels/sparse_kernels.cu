#include "compressors/cuda/kernels/sparse_kernels.inc.h"
