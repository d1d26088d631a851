#include "compressors/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compressors/blockwise/blockwise.h"
#include "compressors/dct/format.h"
#include "compressors/spec.h"

namespace goss::compressors {

namespace {

constexpr StageReader::Range kBlockRange = {32, kTileElems};

template <DType kDType>
ValueForm readCast(StageReader&) {
  return CastForm{kDType};
}

template <unsigned kBits>
ValueForm readInteger(StageReader& reader) {
  BlockFormat format;
  format.bits = kBits;
  format.block = reader.block("block", 256, kBlockRange);
  const bool minmax = reader.choice("mode", {"symmetric", "minmax"}) == 1;
  const bool stochastic = reader.choice("round", {"nearest", "stochastic"}) == 1;
  format.scheme = minmax ? (stochastic ? BlockScheme::minmaxStochastic : BlockScheme::minmax)
                         : (stochastic ? BlockScheme::peakStochastic : BlockScheme::peak);
  format.levels = blockLevels(kBits, format.scheme);
  format.gain = feedbackGain(format);
  return format;
}

ValueForm readQsgd(StageReader& reader) {
  BlockFormat format;
  format.bits = static_cast<unsigned>(reader.block("bits", 8, {2, 8}));
  format.block = reader.block("block", 128, kBlockRange);
  format.scheme = BlockScheme::norm;
  format.levels = blockLevels(format.bits, format.scheme);
  format.gain = feedbackGain(format);
  return format;
}

template <MxElement kElement>
ValueForm readMx(StageReader&) {
  return MxForm{kElement};
}

ValueForm readNatural(StageReader& reader) {
  return NaturalForm{reader.choice("round", {"stochastic", "nearest"}) == 1};
}

ValueForm readDynamic(StageReader& reader) { return DynamicForm{reader.block("block", 4096, kBlockRange)}; }

template <typename Form>
ValueForm readPlain(StageReader&) {
  return Form{};
}

ValueForm readSign(StageReader& reader) { return SignForm{reader.choice("norm", {"l1", "l2"}) == 1}; }

ValueForm readTernary(StageReader& reader) {
  TernarySettings settings;
  settings.clip = static_cast<float>(reader.number("clip", 2.5, {0, 1000}));
  settings.scale = static_cast<float>(reader.number("scale", 0, {0, 1e30}));
  settings.ranks = static_cast<unsigned>(reader.integer("ranks", 1, {1, 127}));
  if (settings.scale == 0 && settings.ranks != 1) {
    reader.refuse("payloads are only added with a shared scale; give scale=, or agree=max alone");
  }
  if (reader.choice("agree", {"none", "max"}) == 1) {
    if (settings.scale != 0) {
      reader.refuse("the ranks agree on a scale, so scale= and ranks= are not given");
    }
    return AgreedTernaryForm{settings.clip};
  }
  return settings;
}

ValueForm readDct(StageReader& reader) {
  const std::size_t chunk = reader.block("chunk", 64, {8, kMaxDctElems});
  const std::uint64_t keep = reader.integer("keep", 32, {1, kMaxDctElems});
  if (keep > chunk) {
    reader.refuse(fmt::format("keep={} is more than a chunk has", keep));
  }
  return DctForm{chunk, std::min<std::size_t>(keep, chunk)};
}

ValueForm readPowerSgd(StageReader& reader) {
  PowerSgdSettings settings;
  settings.rank = reader.integer("rank", 4, {1, 256});
  settings.one_reduction = reader.choice("reductions", {"2", "1"}) == 1;
  settings.averaged_feedback = reader.choice("feedback", {"averaged", "local"}) == 0;
  settings.columns = static_cast<std::uint32_t>(reader.integer("columns", 0, {0, 1u << 30}));
  return settings;
}

/// Reads a stage that codes all values it is given.
struct ValueReader {
  std::string_view name;
  ValueForm (*read)(StageReader& reader);
};

constexpr std::array kValueReaders{
    ValueReader{"none", readCast<GOSS_FLOAT32>},
    ValueReader{"fp16", readCast<GOSS_FLOAT16>},
    ValueReader{"bf16", readCast<GOSS_BFLOAT16>},
    ValueReader{"e4m3", readCast<GOSS_FLOAT8_E4M3>},
    ValueReader{"e5m2", readCast<GOSS_FLOAT8_E5M2>},
    ValueReader{"int8", readInteger<8>},
    ValueReader{"int6", readInteger<6>},
    ValueReader{"int4", readInteger<4>},
    ValueReader{"int2", readInteger<2>},
    ValueReader{"qsgd", readQsgd},
    ValueReader{"mxfp8", readMx<MxElement::e4m3>},
    ValueReader{"mxfp4", readMx<MxElement::e2m1>},
    ValueReader{"e3m0", readMx<MxElement::e3m0>},
    ValueReader{"natural", readNatural},
    ValueReader{"dynamic8", readDynamic},
    ValueReader{"uniform8", readPlain<UniformForm>},
    ValueReader{"sign", readSign},
    ValueReader{"terngrad", readTernary},
    ValueReader{"minmaxuint8", readPlain<MinMaxUint8Form>},
    ValueReader{"powersgd", readPowerSgd},
    ValueReader{"dct", readDct},
    ValueReader{"lossless", readPlain<LosslessForm>},
};

double ratioOf(StageReader& reader) { return reader.number("ratio", 0.01, {1e-6, 1}); }

PickForm readTopK(StageReader& reader) {
  const double ratio = ratioOf(reader);
  return TopKForm{ratio, reader.choice("select", {"exact", "sampled"}) == 1};
}
PickForm readThreshold(StageReader& reader) {
  return ThresholdForm{static_cast<float>(reader.number("value", 1e-3, {0, 1e30}))};
}
PickForm readRandomK(StageReader& reader) {
  const double ratio = ratioOf(reader);
  return RandomKForm{ratio, reader.block("block", 32, {1, kTileElems})};
}

/// Reads a stage that picks values and hands them to the next stage.
struct PickReader {
  std::string_view name;
  PickForm (*read)(StageReader& reader);
};

constexpr std::array kPickReaders{
    PickReader{"topk", readTopK},
    PickReader{"threshold", readThreshold},
    PickReader{"randk", readRandomK},
};

/// Names of well-known compositions.
struct Alias {
  std::string_view name;
  std::string_view spec;
};

constexpr std::array kAliases{
    Alias{"cocktail", "randk:ratio=0.1+topk:ratio=0.2+int4:block=128"},
    Alias{"dgc", "topk:ratio=0.001,select=sampled+none+momentum:factor=0.9,mask=1"},
    Alias{"demo", "dct:chunk=64,keep=2+ef:decay=0.999,at=worker"},
    Alias{"cgx", "int4:block=512,mode=minmax"},
};

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

template <typename Entry, std::size_t kSize>
const Entry* find(const std::array<Entry, kSize>& entries, std::string_view name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

std::string knownStages() {
  std::string names;
  for (const PickReader& pick : kPickReaders) {
    names += fmt::format("{}, ", pick.name);
  }
  for (const ValueReader& value : kValueReaders) {
    names += fmt::format("{}, ", value.name);
  }
  for (const Alias& alias : kAliases) {
    names += fmt::format("{}, ", alias.name);
  }
  return names + "ef, loco, momentum";
}

Status wrong(std::string_view spec, const std::string& what) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("codec '{}': {}", spec, what));
}

/// Reads the stages from the last to the first.
Status readStages(std::string_view spec, std::vector<Stage> stages, CodecForm& form) {
  if (stages.empty() || find(kPickReaders, stages.back().name) != nullptr) {
    stages.push_back({"none", {}});
  }
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    StageReader reader(*stage);
    if (const PickReader* pick = find(kPickReaders, stage->name)) {
      form.picks.insert(form.picks.begin(), pick->read(reader));
    } else if (const ValueReader* value = find(kValueReaders, stage->name)) {
      if (stage != stages.rbegin()) {
        return wrong(spec, fmt::format("only 'ef', 'loco' or 'momentum' may follow '{}'", stage->name));
      }
      form.value = value->read(reader);
    } else {
      return wrong(spec, fmt::format("'{}' is unknown here; this build has: {}", stage->name, knownStages()));
    }
    if (Status status = reader.finish(); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

} // namespace

Result<CodecForm> readForm(std::string_view spec) {
  Result<std::vector<Stage>> parsed = parseSpec(spec);
  if (!parsed.isOk()) {
    return parsed.status();
  }
  std::vector<Stage> stages = parsed.take();
  if (const Alias* alias = find(kAliases, stages.front().name)) {
    if (!stages.front().parameters.empty()) {
      return wrong(spec,
                   fmt::format("'{}' stands for '{}' and has no parameters; write that out", alias->name, alias->spec));
    }
    std::vector<Stage> meant = parseSpec(alias->spec).take();
    stages.erase(stages.begin());
    stages.insert(stages.begin(), meant.begin(), meant.end());
  }
  CodecForm form;
  const Stage last = stages.back();
  const FeedbackReader* feedback = find(kFeedbackReaders, last.name);
  if (feedback != nullptr) {
    stages.pop_back();
  }
  if (Status status = readStages(spec, std::move(stages), form); !status.isOk()) {
    return status;
  }
  if (feedback != nullptr) {
    StageReader reader(last);
    form.feedback_text = feedback->read(reader, form.feedback);
    if (Status status = reader.finish(); !status.isOk()) {
      return status;
    }
  }
  return form;
}

} // namespace goss::compressors
