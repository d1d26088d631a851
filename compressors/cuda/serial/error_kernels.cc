#include "compressors/cuda/kernels/error_kernels.inc.h"
