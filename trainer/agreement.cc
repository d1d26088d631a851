#include "trainer/agreement.h"

#include <xxhash.h>

#include "trainer/error.h"

namespace goss::trainer {

void requireAgreement(Group& group, std::uint64_t data, const std::string& calls) {
  if (!group.allEqual(data)) fail("the ranks read different data; give every rank the same --data file");
  if (!group.allEqual(XXH3_64bits(calls.data(), calls.size())))
    fail("the ranks were started with different options; give every rank the same command line");
}

} // namespace goss::trainer
