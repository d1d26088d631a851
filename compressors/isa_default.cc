#include "compressors/make_loops.inc.h"

namespace goss::compressors {

Loops makeDefaultLoops() { return makeLoops("default"); }

} // namespace goss::compressors
