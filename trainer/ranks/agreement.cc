#include "trainer/ranks/agreement.h"

#include <xxhash.h>

#include "trainer/base/error.h"

namespace goss::trainer {

void requireAgreement(Group& group, std::uint64_t data, const std::string& calls) {
  if (!group.allEqual(data)) fail("the ranks read different data; give every rank the same --data file");
  if (!group.allEqual(XXH3_64bits(calls.data(), calls.size())))
    fail("the ranks were started with different options; give every rank the same command line");
}

void requireSameKindOfDevice(Group& group, const Ops& ops) {
  if (group.allEqual(ops.isHostMemory() ? 0 : 1)) return;
  fail(
      "some ranks compute on a GPU and others on a CPU, so their copies of the model would drift apart; this one: {}. "
      "Give every rank --device cpu, or a GPU",
      ops.name());
}

} // namespace goss::trainer
