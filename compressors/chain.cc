#include "compressors/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "compressors/catalogue.h"

namespace goss::compressors {

namespace {

/// Reads the sides of a feedback stage; returns their part of the canonical spec.
std::string readSides(StageReader& reader, ErrorFeedback& feedback) {
  const std::size_t sides = reader.choice("at", {"both", "worker", "server"});
  feedback.worker = sides != 2;
  feedback.server = sides != 1;
  constexpr std::array kSides = {"both", "worker", "server"};
  return fmt::format("at={}", kSides[sides]);
}

std::string readResidual(StageReader& reader, ErrorFeedback& feedback) {
  feedback.decay = static_cast<float>(reader.number("decay", 1, {0, 1}));
  return fmt::format("+ef:decay={},{}", feedback.decay, readSides(reader, feedback));
}

std::string readLoco(StageReader& reader, ErrorFeedback& feedback) {
  feedback.keep = static_cast<float>(reader.number("beta", 0.8, {0, 1}));
  feedback.reset_steps = static_cast<std::uint32_t>(reader.integer("reset", 1024, {0, 1e9}));
  feedback.eight_bit = true;
  return fmt::format("+loco:beta={},reset={},{}", feedback.keep, feedback.reset_steps, readSides(reader, feedback));
}

std::string readMomentum(StageReader& reader, ErrorFeedback& feedback) {
  feedback.momentum = static_cast<float>(reader.number("factor", 0.9, {1e-3, 1}));
  feedback.masked = reader.choice("mask", {"1", "0"}) == 0;
  feedback.worker = true;
  return fmt::format("+momentum:factor={},mask={}", feedback.momentum, feedback.masked ? 1 : 0);
}

/// Reads the last stage, which says how errors are fed back.
struct FeedbackReader {
  std::string_view name;
  std::string (*read)(StageReader& reader, ErrorFeedback& feedback); ///< Returns the canonical text.
};

constexpr std::array kFeedbackReaders{
    FeedbackReader{"ef", readResidual},
    FeedbackReader{"loco", readLoco},
    FeedbackReader{"momentum", readMomentum},
};

template <typename Entries>
auto find(const Entries& entries, std::string_view name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

std::string knownStages() {
  std::string names;
  const auto add = [&names](const auto& entries) {
    for (const auto& entry : entries) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    }
  };
  add(sparsifierStages());
  add(valueStages());
  add(aliases());
  add(kFeedbackReaders);
  return names;
}

Status wrong(std::string_view spec, const std::string& what) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("codec '{}': {}", spec, what));
}

/// Reads the stages from the last to the first.
Status readStages(std::string_view spec, std::vector<Stage> stages, CodecChain& chain) {
  if (stages.empty() || find(sparsifierStages(), stages.back().name) != nullptr) {
    stages.push_back({"none", {}});
  }
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    StageReader reader(*stage);
    if (const SparsifierStage* sparsifier = find(sparsifierStages(), stage->name)) {
      chain.sparsifiers.insert(chain.sparsifiers.begin(), sparsifier->read(reader));
    } else if (const ValueStage* value = find(valueStages(), stage->name)) {
      if (stage != stages.rbegin()) {
        return wrong(spec, fmt::format("only 'ef', 'loco' or 'momentum' may follow '{}'", stage->name));
      }
      chain.value = value->read(reader);
    } else if (stage->name == "ef21") {
      return wrong(spec,
                   "'ef21' is a synchronizer, ef21:codec=SPEC: who adds payloads keeps the sum of all that came "
                   "before, and which rank that is differs between algorithms");
    } else {
      return wrong(spec, fmt::format("'{}' is unknown here; this build has: {}", stage->name, knownStages()));
    }
    if (Status status = reader.finish(); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

/// Adds an object for each stage.
template <typename Entries>
void describe(const Entries& entries, std::string_view stage, std::string& json) {
  for (const auto& entry : entries) {
    json += fmt::format(R"({}{{"name": "{}", "stage": "{}"}})", json.size() > 1 ? ", " : "", entry.name, stage);
  }
}

} // namespace

std::string describeStages() {
  std::string json = "[";
  describe(sparsifierStages(), "sparsifier", json);
  describe(valueStages(), "values", json);
  describe(kFeedbackReaders, "feedback", json);
  for (const Alias& alias : aliases()) {
    json += fmt::format(R"(, {{"name": "{}", "stage": "alias", "spec": "{}"}})", alias.name, alias.spec);
  }
  return json + "]";
}

Result<CodecChain> readChain(std::string_view spec) {
  Result<std::vector<Stage>> parsed = parseSpec(spec);
  if (!parsed.isOk()) {
    return parsed.status();
  }
  std::vector<Stage> stages = parsed.take();
  if (const Alias* alias = find(aliases(), stages.front().name)) {
    if (!stages.front().parameters.empty()) {
      return wrong(spec,
                   fmt::format("'{}' stands for '{}' and has no parameters; write that out", alias->name, alias->spec));
    }
    std::vector<Stage> meant = parseSpec(alias->spec).take();
    stages.erase(stages.begin());
    stages.insert(stages.begin(), meant.begin(), meant.end());
  }
  CodecChain chain;
  const Stage last = stages.back();
  const FeedbackReader* feedback = find(kFeedbackReaders, last.name);
  if (feedback != nullptr) {
    stages.pop_back();
  }
  if (Status status = readStages(spec, std::move(stages), chain); !status.isOk()) {
    return status;
  }
  if (feedback != nullptr) {
    StageReader reader(last);
    chain.feedback_text = feedback->read(reader, chain.feedback);
    if (Status status = reader.finish(); !status.isOk()) {
      return status;
    }
  }
  return chain;
}

CodecPointer makeCodec(const CodecChain& chain, const Loops& loops) {
  CodecPointer codec = chain.value.make(loops);
  for (auto sparsifier = chain.sparsifiers.rbegin(); sparsifier != chain.sparsifiers.rend(); ++sparsifier) {
    codec = sparsifier->make(std::move(codec), loops); // each is handed what follows it
  }
  return codec;
}

std::string_view whyNoKernels(std::string_view spec) {
  const Result<CodecChain> chain = readChain(spec);
  if (!chain.isOk()) {
    return "";
  }
  for (const Sparsifier& sparsifier : chain.value().sparsifiers) {
    if (const auto* none = std::get_if<NoKernels>(&sparsifier.kernels); none != nullptr) {
      return none->reason;
    }
  }
  const auto* none = std::get_if<NoKernels>(&chain.value().value.kernels);
  return none == nullptr ? "" : none->reason;
}

Result<Compression> makeCompression(std::string_view spec) { return makeCompression(spec, availableLoops().back()); }

Result<Compression> makeCompression(std::string_view spec, const Loops& loops) {
  Result<CodecChain> read = readChain(spec);
  if (!read.isOk()) {
    return read.status();
  }
  const CodecChain chain = read.take();
  const CodecPointer value = chain.value.make(loops);
  if (!chain.sparsifiers.empty() && value->traits().multi_phase) {
    return wrong(spec, fmt::format("'{}' has phases of its own and stands alone", value->spec()));
  }
  Compression compression;
  compression.codec = makeCodec(chain, loops);
  compression.feedback = chain.feedback;
  if (chain.feedback.masked && !compression.codec->traits().sparse) {
    return wrong(spec, "momentum is masked where a sparsifier sent an element; begin with one, or give mask=0");
  }
  compression.spec = compression.codec->spec() + chain.feedback_text;
  return compression;
}

} // namespace goss::compressors
