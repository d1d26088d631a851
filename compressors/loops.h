/// The compiled loops of all codecs, one set per instruction set that this machine can run. All of them give the same
/// bits; tests compare them.
#ifndef GOSS_COMPRESSORS_LOOPS_H_
#define GOSS_COMPRESSORS_LOOPS_H_

#include <span>

#include "compressors/bagua/format.h"
#include "compressors/blockwise/format.h"
#include "compressors/codebook/format.h"
#include "compressors/common/common_loops.h"
#include "compressors/dct/format.h"
#include "compressors/hadamard/format.h"
#include "compressors/lossless/format.h"
#include "compressors/mx/format.h"
#include "compressors/natural/format.h"
#include "compressors/sign/format.h"
#include "compressors/sparse/format.h"
#include "compressors/ternary/format.h"

namespace goss::compressors {

struct Loops {
  const char* isa = "";
  CommonLoops common;
  BlockLoops block;
  MxLoops mx;
  NaturalLoops natural;
  CodebookLoops codebook;
  SignLoops sign;
  TernaryLoops ternary;
  MinMaxLoops minmax;
  SparseLoops sparse;
  DctLoops dct;
  HadamardLoops hadamard;
  LosslessLoops lossless;
};

/// Makers of the sets; each lives in a file compiled for its instruction set and must run only where that exists.
Loops makeDefaultLoops();
Loops makeAvx2Loops();
Loops makeAvx512Loops();

/// The sets that this machine can run, narrowest first; never empty. The span lives for ever.
std::span<const Loops> availableLoops();

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_LOOPS_H_
