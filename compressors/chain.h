/// The parser that makes a codec of a spec string, which is a chain of stages: any number of sparsifiers, then at most
/// one value codec, then at most one of "ef", "loco" and "momentum".
#ifndef GOSS_COMPRESSORS_CHAIN_H_
#define GOSS_COMPRESSORS_CHAIN_H_

#include <string>
#include <string_view>
#include <vector>

#include "compressors/stage.h"
#include "gossamer/codec.h"

namespace goss::compressors {

struct CodecChain {
  std::vector<Sparsifier> sparsifiers; ///< The first one sees the whole vector.
  ValueCodec value;
  ErrorFeedback feedback;
  std::string feedback_text; ///< Canonical text, with its '+'; empty: no feedback.
};

/// Reads a spec. GOSS_ERR_INVALID_ARGUMENT names the stage or parameter that is wrong, and lists the stages that exist.
Result<CodecChain> readChain(std::string_view spec);

/// All stages as JSON: what goss_codecs() hands out.
std::string describeStages();

/// The codec of a chain that makeCompression() would take. `loops` must outlive it.
CodecPointer makeCodec(const CodecChain& chain, const Loops& loops);

/// Why devices cannot run the codec of a spec: the reason of the first stage without kernels. Empty: each stage has
/// some, or the spec is not one of stages.
std::string_view whyNoKernels(std::string_view spec);

/// Errors as readChain()'s. `loops` must outlive the codec; by default the widest of this machine.
Result<Compression> makeCompression(std::string_view spec);
Result<Compression> makeCompression(std::string_view spec, const Loops& loops);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CHAIN_H_
