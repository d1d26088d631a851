#include "kernels/loops.inc.h"

namespace goss::kernels {

Table makeDefaultTable() { return makeTable<PortableHalf>("default"); }

} // namespace goss::kernels
