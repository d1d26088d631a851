#include "compressors/cuda/nearest_kernels.inc.h"
