// DeMo: Peng et al., "Decoupled Momentum Optimization", arXiv 2411.19870. The optimizer is plain gradient descent, with
// weight decay if wanted, because it sees signs. The published code transforms 64 x 64 tiles of matrices; here chunks
// are of consecutive elements of a bucket.
#include <fmt/format.h>

#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {ParameterInfo{"decay", "0.999", "of the momentum"},
                                    ParameterInfo{"chunk", "64", "elements of a cosine transform; a power of two"},
                                    ParameterInfo{"keep", "2", "components of each chunk that are exchanged"},
                                    ParameterInfo{"bucket_kb", "1024", "KiB of gradient in one exchange"}};

Composition make(SpecReader& reader) {
  Composition made;
  made.gradients = GradientRule::signs;
  made.decay = reader.number("decay", kUnitRange);
  const std::uint64_t chunk = reader.integer("chunk", {8, 256});
  made.layout.codec = fmt::format("dct:chunk={},keep={}", chunk, reader.integer("keep", {1, 256}));
  made.layout.bucket_bytes = reader.integer("bucket_kb", {1, 1 << 22}) * 1024;
  return made;
}

} // namespace

const Method& demoMethod() {
  static const Method kMethod = {
      "demo", "signs of the mean of the momenta's largest cosine components; the optimizer is plain descent",
      "Peng et al., arXiv 2411.19870", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
