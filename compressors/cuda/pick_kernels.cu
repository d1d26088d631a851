#include "compressors/cuda/pick_kernels.inc.h"
