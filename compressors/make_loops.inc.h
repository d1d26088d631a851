/// Makes the Loops of the instruction set that the including file is compiled for.
#ifndef GOSS_COMPRESSORS_MAKE_LOOPS_INC_H_
#define GOSS_COMPRESSORS_MAKE_LOOPS_INC_H_

#include "compressors/bagua/loops.inc.h"
#include "compressors/blockwise/loops.inc.h"
#include "compressors/codebook/loops.inc.h"
#include "compressors/common/common_loops.inc.h"
#include "compressors/dct/loops.inc.h"
#include "compressors/hadamard/loops.inc.h"
#include "compressors/loops.h"
#include "compressors/lossless/loops.inc.h"
#include "compressors/mx/loops.inc.h"
#include "compressors/natural/loops.inc.h"
#include "compressors/sign/loops.inc.h"
#include "compressors/sparse/loops.inc.h"
#include "compressors/ternary/loops.inc.h"

namespace goss::compressors {
namespace {

inline Loops makeLoops(const char* isa) {
  Loops loops;
  loops.isa = isa;
  loops.common = makeCommonLoops();
  loops.block = makeBlockLoops();
  loops.mx = makeMxLoops();
  loops.natural = makeNaturalLoops();
  loops.codebook = makeCodebookLoops();
  loops.sign = makeSignLoops();
  loops.ternary = makeTernaryLoops();
  loops.minmax = makeMinMaxLoops();
  loops.sparse = makeSparseLoops();
  loops.dct = makeDctLoops();
  loops.hadamard = makeHadamardLoops();
  loops.lossless = makeLosslessLoops();
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_MAKE_LOOPS_INC_H_
