/// A stage of spec strings: how its parameters are read, what makes its codec, and what the documents say about it. A
/// codec's own source file defines its stages; catalogue.cc lists them.
#ifndef GOSS_COMPRESSORS_STAGE_H_
#define GOSS_COMPRESSORS_STAGE_H_

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "compressors/kernel_settings.h"
#include "compressors/loops.h"
#include "compressors/spec.h"
#include "gossamer/codec.h"

namespace goss::compressors {

using CodecPointer = std::shared_ptr<const Codec>;

/// Cells of the tables in docs/compressors.md and docs/formats.md, which tests/readme/document_tables.cc writes. Stages
/// with equal texts share a row.
struct StageText {
  std::string_view bytes;   ///< Bytes for each element; for a sparsifier those of an index.
  std::string_view summary; ///< What the stage does.
  std::string_view source;  ///< The paper or specification.
  std::string_view format;  ///< The payload of n elements.
};

/// A stage that codes all values it is given, with the parameters of one spec.
struct ValueCodec {
  std::function<CodecPointer(const Loops& loops)> make; ///< The loops must outlive the codec.
  ValueKernels kernels;
};

struct ValueStage {
  std::string_view name;
  StageText text;
  std::vector<std::string_view> examples; ///< Canonical specs; all tests of codecs run on them.
  ValueCodec (*read)(StageReader& reader);
};

/// A sparsifier with the parameters of one spec.
struct Sparsifier {
  std::function<CodecPointer(CodecPointer inner, const Loops& loops)> make; ///< `inner` codes the picked values.
  SparsifierKernels kernels;
};

/// A stage that picks values and hands them to the next one.
struct SparsifierStage {
  std::string_view name;
  StageText text;
  std::vector<std::string_view> examples;
  Sparsifier (*read)(StageReader& reader);
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_STAGE_H_
