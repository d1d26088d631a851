/// The list of all built-in codecs, and the parser that makes a codec of a spec string.
#ifndef GOSS_COMPRESSORS_CATALOGUE_H_
#define GOSS_COMPRESSORS_CATALOGUE_H_

#include <span>
#include <string_view>

#include "compressors/loops.h"
#include "gossamer/codec.h"

namespace goss::compressors {

struct CodecForm;

/// One name of the catalogue, for people, tests and benchmarks.
struct CodecEntry {
  std::string_view name;
  std::string_view example; ///< A full spec string.
  std::string_view summary;
};

std::span<const CodecEntry> builtinCodecs();

/// Reads a spec: any number of sparsifiers, then at most one value codec, then at most one of "ef", "loco" and
/// "momentum".
/// GOSS_ERR_INVALID_ARGUMENT names the stage or parameter that is wrong. `loops` must outlive the codec; by default the
/// widest of this machine.
Result<Compression> makeCompression(std::string_view spec);
Result<Compression> makeCompression(std::string_view spec, const Loops& loops);

/// The codec of a form that makeCompression() would take.
std::shared_ptr<const Codec> makeCodec(const CodecForm& form, const Loops& loops);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CATALOGUE_H_
