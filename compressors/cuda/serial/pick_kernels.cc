#include "compressors/cuda/kernels/pick_kernels.inc.h"
