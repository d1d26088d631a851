#include "compressors/make_loops.inc.h"

namespace goss::compressors {

Loops makeAvx512Loops() { return makeLoops("avx512"); }

} // namespace goss::compressors
