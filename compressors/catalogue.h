/// The list of all built-in codecs.
#ifndef GOSS_COMPRESSORS_CATALOGUE_H_
#define GOSS_COMPRESSORS_CATALOGUE_H_

#include <span>
#include <string_view>

#include "compressors/stage.h"

namespace goss::compressors {

/// The stages in the order in which docs/compressors.md lists them.
std::span<const ValueStage> valueStages();
std::span<const SparsifierStage> sparsifierStages();

/// A well-known composition.
struct Alias {
  std::string_view name;
  std::string_view spec;
};
std::span<const Alias> aliases();

/// One codec of the catalogue, for tests and benchmarks.
struct CodecEntry {
  std::string_view name;    ///< Name of its first stage.
  std::string_view example; ///< Its canonical spec.
};
/// All examples of all stages. The span lives for ever.
std::span<const CodecEntry> builtinCodecs();

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CATALOGUE_H_
