// Gradient all-reduce in buckets that are exchanged during the backward pass: Li et al., "PyTorch Distributed", VLDB
// 2020.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"bucket_kb", "1024", "KiB of gradient in one exchange"},
    ParameterInfo{"levels", "1", "2: within each node, and between nodes (algorithm hier-direct-direct)"},
    kCodecParameter};

Composition make(SpecReader& reader) {
  Composition made;
  made.gradients = GradientRule::mean;
  made.layout.bucket_bytes = reader.integer("bucket_kb", {1, 1 << 22}) * 1024;
  made.layout.algorithm = reader.choice("levels", "2") ? kTwoLevelAllReduce : "";
  made.layout.codec = reader.text("codec");
  return made;
}

} // namespace

const Method& ddpMethod() {
  static const Method kMethod = {"ddp", "mean of gradients, in buckets that leave during the backward pass",
                                 "Li et al., VLDB 2020", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
