#include "compressors/catalogue.h"

#include <array>

namespace goss::compressors {

// Defined in the source files of their codecs. To add one, declare it here and name it in the list below.
std::span<const ValueStage> castStages();
std::span<const ValueStage> blockwiseStages();
std::span<const ValueStage> mxStages();
std::span<const ValueStage> nvFp4Stages();
std::span<const ValueStage> naturalStages();
std::span<const ValueStage> dynamicStages();
std::span<const ValueStage> normalStages();
std::span<const ValueStage> uniformStages();
std::span<const ValueStage> minMaxUint8Stages();
std::span<const ValueStage> signStages();
std::span<const ValueStage> ternaryStages();
std::span<const ValueStage> dctStages();
std::span<const ValueStage> losslessStages();
std::span<const ValueStage> exponentStages();
std::span<const ValueStage> powerSgdStages();
std::span<const SparsifierStage> sparseStages();
std::span<const SparsifierStage> randomKStages();
std::span<const SparsifierStage> hadamardStages();

namespace {

// clang-format off
constexpr std::array kValueCodecs = {
    castStages,
    blockwiseStages,
    mxStages,
    nvFp4Stages,
    naturalStages,
    dynamicStages,
    normalStages,
    uniformStages,
    minMaxUint8Stages,
    signStages,
    ternaryStages,
    dctStages,
    losslessStages,
    exponentStages,
    powerSgdStages,
};
constexpr std::array kSparsifiers = {
    sparseStages,
    randomKStages,
    hadamardStages,
};
// clang-format on

constexpr std::array kAliases = {
    Alias{"cocktail", "randk:ratio=0.1+topk:ratio=0.2+int4:block=128"},
    Alias{"dgc", "topk:ratio=0.001,select=sampled+none+momentum:factor=0.9,mask=1"},
    Alias{"demo", "dct:chunk=64,keep=2+ef:decay=0.999,at=worker"},
    Alias{"cgx", "int4:block=512,mode=minmax"},
};

template <typename Stage, std::size_t kSize>
std::vector<Stage> joined(const std::array<std::span<const Stage> (*)(), kSize>& families) {
  std::vector<Stage> all;
  for (const auto& family : families) {
    const std::span<const Stage> stages = family();
    all.insert(all.end(), stages.begin(), stages.end());
  }
  return all;
}

template <typename Stages>
void addExamples(const Stages& stages, std::vector<CodecEntry>& entries) {
  for (const auto& stage : stages) {
    for (const std::string_view example : stage.examples) {
      entries.push_back({stage.name, example});
    }
  }
}

} // namespace

std::span<const ValueStage> valueStages() {
  static const std::vector<ValueStage> kAll = joined<ValueStage>(kValueCodecs);
  return kAll;
}

std::span<const SparsifierStage> sparsifierStages() {
  static const std::vector<SparsifierStage> kAll = joined<SparsifierStage>(kSparsifiers);
  return kAll;
}

std::span<const Alias> aliases() { return kAliases; }

std::span<const CodecEntry> builtinCodecs() {
  static const std::vector<CodecEntry> kEntries = [] {
    std::vector<CodecEntry> entries;
    addExamples(valueStages(), entries);
    addExamples(sparsifierStages(), entries);
    return entries;
  }();
  return kEntries;
}

} // namespace goss::compressors
