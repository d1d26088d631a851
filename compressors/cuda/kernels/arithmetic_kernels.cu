#include "compressors/cuda/kernels/arithmetic_kernels.inc.h"
