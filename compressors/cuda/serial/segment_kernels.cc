#include "compressors/cuda/kernels/segment_kernels.inc.h"
