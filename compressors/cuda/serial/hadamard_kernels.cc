#include "compressors/cuda/kernels/hadamard_kernels.inc.h"
