#include "compressors/cuda/segment_kernels.inc.h"
