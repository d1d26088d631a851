// Gradient all-reduce in buckets that are exchanged during the backward pass: Li et al., "PyTorch Distributed", VLDB
// 2020.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {ParameterInfo{"bucket_kb", "1024", "KiB of gradient in one exchange"},
                                    kCodecParameter};

Composition make(SpecReader& reader) {
  Composition made;
  made.gradients = GradientRule::mean;
  made.layout.bucket_bytes = reader.integer("bucket_kb", {1, 1 << 22}) * 1024;
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
