#include "kernels/x86/f16c.h"
#include "kernels/x86/stream.h"

namespace goss::kernels {

Table makeAvx512Table() {
  Table table = makeTable<F16cHalf>("avx512");
  table.stream = streamLoop;
  return table;
}

} // namespace goss::kernels
