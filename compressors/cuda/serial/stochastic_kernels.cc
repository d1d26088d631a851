#include "compressors/cuda/stochastic_kernels.inc.h"
