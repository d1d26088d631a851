#include "compressors/make_loops.inc.h"

namespace goss::compressors {

Loops makeAvx2Loops() { return makeLoops("avx2"); }

} // namespace goss::compressors
