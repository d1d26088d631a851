#include "compressors/cuda/kernels/stochastic_kernels.inc.h"
