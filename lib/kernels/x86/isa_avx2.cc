#include "kernels/x86/f16c.h"
#include "kernels/x86/stream.h"

namespace goss::kernels {

Table makeAvx2Table() {
  Table table = makeTable<F16cHalf>("avx2");
  table.stream = streamLoop;
  return table;
}

} // namespace goss::kernels
