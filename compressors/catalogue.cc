#include "compressors/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compressors/bagua/minmax_uint8.h"
#include "compressors/blockwise/blockwise.h"
#include "compressors/cast/cast.h"
#include "compressors/codebook/dynamic.h"
#include "compressors/codebook/uniform.h"
#include "compressors/dct/dct.h"
#include "compressors/lossless/lossless.h"
#include "compressors/mx/mx.h"
#include "compressors/natural/natural.h"
#include "compressors/powersgd/powersgd.h"
#include "compressors/sign/sign.h"
#include "compressors/sparse/random_k.h"
#include "compressors/sparse/sparse.h"
#include "compressors/spec.h"
#include "compressors/ternary/agreed.h"
#include "compressors/ternary/ternary.h"

namespace goss::compressors {

namespace {

using CodecPointer = std::shared_ptr<const Codec>;

/// A stage that codes all values it is given.
struct ValueMaker {
  std::string_view name;
  CodecPointer (*make)(StageReader& reader, const Loops& loops);
};

constexpr StageReader::Range kBlockRange = {32, kTileElems};

template <DType kDType>
CodecPointer makeCast(StageReader&, const Loops& loops) {
  return std::make_shared<CastCodec>(kDType, loops.common);
}

template <unsigned kBits>
CodecPointer makeInteger(StageReader& reader, const Loops& loops) {
  BlockFormat format;
  format.bits = kBits;
  format.block = reader.block("block", 256, kBlockRange);
  const bool minmax = reader.choice("mode", {"symmetric", "minmax"}) == 1;
  const bool stochastic = reader.choice("round", {"nearest", "stochastic"}) == 1;
  format.scheme = minmax ? (stochastic ? BlockScheme::minmaxStochastic : BlockScheme::minmax)
                         : (stochastic ? BlockScheme::peakStochastic : BlockScheme::peak);
  format.levels = blockLevels(kBits, format.scheme);
  return std::make_shared<BlockwiseCodec>(format, loops.block);
}

CodecPointer makeQsgd(StageReader& reader, const Loops& loops) {
  BlockFormat format;
  format.bits = static_cast<unsigned>(reader.block("bits", 8, {2, 8}));
  format.block = reader.block("block", 128, kBlockRange);
  format.scheme = BlockScheme::norm;
  format.levels = blockLevels(format.bits, format.scheme);
  return std::make_shared<BlockwiseCodec>(format, loops.block);
}

template <MxElement kElement>
CodecPointer makeMx(StageReader&, const Loops& loops) {
  return std::make_shared<MxCodec>(kElement, loops.common, loops.mx);
}

CodecPointer makeNatural(StageReader& reader, const Loops& loops) {
  const bool nearest = reader.choice("round", {"stochastic", "nearest"}) == 1;
  return std::make_shared<NaturalCodec>(nearest, loops.common, loops.natural);
}

CodecPointer makeDynamic(StageReader& reader, const Loops& loops) {
  const std::size_t block = reader.block("block", 4096, kBlockRange);
  return std::make_shared<DynamicCodec>(block, loops.common, loops.codebook);
}

CodecPointer makeUniform(StageReader&, const Loops& loops) {
  return std::make_shared<UniformCodec>(loops.common, loops.codebook);
}

CodecPointer makeSign(StageReader& reader, const Loops& loops) {
  const auto norm = reader.choice("norm", {"l1", "l2"}) == 0 ? SignCodec::Norm::l1 : SignCodec::Norm::l2;
  return std::make_shared<SignCodec>(norm, loops.common, loops.sign);
}

CodecPointer makeTernary(StageReader& reader, const Loops& loops) {
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
    return std::make_shared<AgreedTernaryCodec>(settings.clip, loops.common, loops.ternary);
  }
  return std::make_shared<TernaryCodec>(settings, loops.common, loops.ternary);
}

CodecPointer makeMinMaxUint8(StageReader&, const Loops& loops) {
  return std::make_shared<MinMaxUint8Codec>(loops.common, loops.minmax);
}

CodecPointer makeDct(StageReader& reader, const Loops& loops) {
  const std::size_t chunk = reader.block("chunk", 64, {8, kMostDctElems});
  const std::uint64_t keep = reader.integer("keep", 32, {1, kMostDctElems});
  if (keep > chunk) {
    reader.refuse(fmt::format("keep={} is more than a chunk has", keep));
  }
  return std::make_shared<DctCodec>(chunk, std::min<std::size_t>(keep, chunk), loops.common, loops.dct);
}

CodecPointer makeLossless(StageReader&, const Loops& loops) {
  return std::make_shared<LosslessCodec>(loops.common, loops.lossless);
}

CodecPointer makePowerSgd(StageReader& reader, const Loops&) {
  PowerSgdSettings settings;
  settings.rank = reader.integer("rank", 4, {1, 256});
  settings.one_reduction = reader.choice("reductions", {"2", "1"}) == 1;
  settings.averaged_feedback = reader.choice("feedback", {"averaged", "local"}) == 0;
  settings.columns = static_cast<std::uint32_t>(reader.integer("columns", 0, {0, 1u << 30}));
  return std::make_shared<PowerSgdCodec>(settings);
}

constexpr std::array kValueMakers{
    ValueMaker{"none", makeCast<GOSS_FLOAT32>},
    ValueMaker{"fp16", makeCast<GOSS_FLOAT16>},
    ValueMaker{"bf16", makeCast<GOSS_BFLOAT16>},
    ValueMaker{"e4m3", makeCast<GOSS_FLOAT8_E4M3>},
    ValueMaker{"e5m2", makeCast<GOSS_FLOAT8_E5M2>},
    ValueMaker{"int8", makeInteger<8>},
    ValueMaker{"int6", makeInteger<6>},
    ValueMaker{"int4", makeInteger<4>},
    ValueMaker{"int2", makeInteger<2>},
    ValueMaker{"qsgd", makeQsgd},
    ValueMaker{"mxfp8", makeMx<MxElement::e4m3>},
    ValueMaker{"mxfp4", makeMx<MxElement::e2m1>},
    ValueMaker{"e3m0", makeMx<MxElement::e3m0>},
    ValueMaker{"natural", makeNatural},
    ValueMaker{"dynamic8", makeDynamic},
    ValueMaker{"uniform8", makeUniform},
    ValueMaker{"sign", makeSign},
    ValueMaker{"terngrad", makeTernary},
    ValueMaker{"minmaxuint8", makeMinMaxUint8},
    ValueMaker{"powersgd", makePowerSgd},
    ValueMaker{"dct", makeDct},
    ValueMaker{"lossless", makeLossless},
};

/// A stage that picks values and hands them to the next one.
struct PickMaker {
  std::string_view name;
  CodecPointer (*make)(StageReader& reader, CodecPointer inner, const Loops& loops);
};

double ratioOf(StageReader& reader, std::string_view key, double otherwise) {
  return reader.number(key, otherwise, {1e-6, 1});
}

CodecPointer makeTopK(StageReader& reader, CodecPointer inner, const Loops& loops) {
  const double ratio = ratioOf(reader, "ratio", 0.01);
  const bool sampled = reader.choice("select", {"exact", "sampled"}) == 1;
  auto selector = sampled ? makeSampledTopK(ratio, loops.sparse) : makeExactTopK(ratio, loops.sparse);
  return std::make_shared<SparseCodec>(std::move(selector), std::move(inner), loops.common);
}

CodecPointer makeThresholdStage(StageReader& reader, CodecPointer inner, const Loops& loops) {
  const auto value = static_cast<float>(reader.number("value", 1e-3, {0, 1e30}));
  return std::make_shared<SparseCodec>(makeThreshold(value, loops.sparse), std::move(inner), loops.common);
}

CodecPointer makeRandomK(StageReader& reader, CodecPointer inner, const Loops& loops) {
  const double ratio = ratioOf(reader, "ratio", 0.01);
  const std::size_t block = reader.block("block", 32, {1, kTileElems});
  return std::make_shared<RandomKCodec>(ratio, block, std::move(inner), loops.common);
}

constexpr std::array kPickMakers{
    PickMaker{"topk", makeTopK},
    PickMaker{"threshold", makeThresholdStage},
    PickMaker{"randk", makeRandomK},
};

/// Names of well-known compositions.
struct Alias {
  std::string_view name;
  std::string_view spec;
};

constexpr std::array kAliases{
    Alias{"cocktail", "randk:ratio=0.1+topk:ratio=0.2+int4:block=128"},
    Alias{"dgc", "topk:ratio=0.001,select=sampled+none+momentum:factor=0.9,mask=1"},
    Alias{"demo", "dct:chunk=64,keep=32+ef:decay=0.999,at=worker"},
    Alias{"cgx", "int4:block=512,mode=minmax"},
};

constexpr std::array kBuiltins{
    CodecEntry{"none", "none", "float32 as it is"},
    CodecEntry{"fp16", "fp16", "cast to float16"},
    CodecEntry{"bf16", "bf16", "cast to bfloat16"},
    CodecEntry{"e4m3", "e4m3", "cast to float8 e4m3, saturating"},
    CodecEntry{"e5m2", "e5m2", "cast to float8 e5m2"},
    CodecEntry{"int8", "int8:block=256,mode=symmetric,round=nearest", "8-bit integers with a scale per block"},
    CodecEntry{"int6", "int6:block=256,mode=symmetric,round=nearest", "6-bit integers with a scale per block"},
    CodecEntry{"int4", "int4:block=128,mode=symmetric,round=nearest", "4-bit integers with a scale per block"},
    CodecEntry{"int2", "int2:block=64,mode=symmetric,round=nearest", "2-bit integers with a scale per block"},
    CodecEntry{"int8", "int8:block=512,mode=minmax,round=nearest", "8 bits between a block's minimum and maximum"},
    CodecEntry{"int6", "int6:block=512,mode=minmax,round=nearest", "6 bits between a block's minimum and maximum"},
    CodecEntry{"int4", "int4:block=512,mode=minmax,round=nearest", "4 bits between a block's minimum and maximum"},
    CodecEntry{"int2", "int2:block=64,mode=minmax,round=nearest", "2 bits between a block's minimum and maximum"},
    CodecEntry{"int8", "int8:block=256,mode=symmetric,round=stochastic", "8-bit integers, unbiased"},
    CodecEntry{"int4", "int4:block=128,mode=symmetric,round=stochastic", "4-bit integers, unbiased"},
    CodecEntry{"int4", "int4:block=512,mode=minmax,round=stochastic", "4 bits from minimum to maximum, unbiased"},
    CodecEntry{"qsgd", "qsgd:bits=8,block=128", "levels up to a block's norm, unbiased"},
    CodecEntry{"qsgd", "qsgd:bits=4,block=128", "the same in 4 bits"},
    CodecEntry{"mxfp8", "mxfp8", "float8 e4m3, 32 elements share a power of two"},
    CodecEntry{"mxfp4", "mxfp4", "4-bit floats e2m1, 32 elements share a power of two"},
    CodecEntry{"e3m0", "e3m0", "4-bit powers of two, 32 elements share one more"},
    CodecEntry{"natural", "natural:round=stochastic", "powers of two in 8 bits, unbiased"},
    CodecEntry{"natural", "natural:round=nearest", "powers of two in 8 bits"},
    CodecEntry{"dynamic8", "dynamic8:block=4096", "8-bit map that is dense near zero and near the peak"},
    CodecEntry{"uniform8", "uniform8", "8 bits over six deviations with a codebook of means"},
    CodecEntry{"minmaxuint8", "minmaxuint8", "Bagua's 8 bits from minimum to maximum"},
    CodecEntry{"sign", "sign:norm=l1", "signs times the mean magnitude"},
    CodecEntry{"sign", "sign:norm=l2", "signs times the root mean square"},
    CodecEntry{"terngrad", "terngrad:clip=2.5", "-1, 0, 1 times a scale, clipped at 2.5 deviations"},
    CodecEntry{"terngrad", "terngrad:clip=0", "-1, 0, 1 times a scale, unbiased"},
    CodecEntry{"terngrad", "terngrad:clip=0,scale=64,ranks=7", "the same with a shared scale: payloads are added"},
    CodecEntry{"terngrad", "terngrad:clip=2.5,agree=max", "the same with a scale that the ranks agree on"},
    CodecEntry{"topk", "topk:ratio=0.01,select=exact+none", "the largest hundredth"},
    CodecEntry{"topk", "topk:ratio=0.01,select=exact+int8:block=256,mode=symmetric,round=nearest", "in 8 bits"},
    CodecEntry{"topk", "topk:ratio=0.25,select=exact+int4:block=128,mode=symmetric,round=nearest",
               "a quarter in 4 bits"},
    CodecEntry{"topk", "topk:ratio=0.01,select=sampled+none", "about the largest hundredth, by a sample"},
    CodecEntry{"threshold", "threshold:value=2+none", "magnitudes of at least 2"},
    CodecEntry{"randk", "randk:ratio=0.1,block=32+none", "a tenth of the blocks, the same on all ranks: additive"},
    CodecEntry{"cocktail",
               "randk:ratio=0.1,block=32+topk:ratio=0.2,select=exact+int4:block=128,mode=symmetric,round=nearest",
               "CocktailSGD: random blocks, then top-k, then 4 bits"},
    CodecEntry{"dct", "dct:chunk=64,keep=8", "DeMo: the largest coefficients of a cosine transform of each chunk"},
    CodecEntry{"lossless", "lossless", "planes of bytes through an entropy coder; every bit survives"},
    CodecEntry{"powersgd", "powersgd:rank=4,reductions=2,feedback=averaged", "product of two thin matrices"},
    CodecEntry{"powersgd", "powersgd:rank=4,reductions=1,feedback=local", "the same, one factor at a time"},
};

template <typename Maker, std::size_t kSize>
const Maker* find(const std::array<Maker, kSize>& makers, std::string_view name) {
  for (const Maker& maker : makers) {
    if (maker.name == name) {
      return &maker;
    }
  }
  return nullptr;
}

std::string knownStages() {
  std::string names;
  for (const PickMaker& maker : kPickMakers) {
    names += fmt::format("{}, ", maker.name);
  }
  for (const ValueMaker& maker : kValueMakers) {
    names += fmt::format("{}, ", maker.name);
  }
  for (const Alias& alias : kAliases) {
    names += fmt::format("{}, ", alias.name);
  }
  return names + "ef, loco, momentum";
}

Status wrong(std::string_view spec, const std::string& what) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("codec '{}': {}", spec, what));
}

/// The sides of a feedback stage; gives what the canonical spec says of them.
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

/// A last stage that says what becomes of errors.
struct FeedbackMaker {
  std::string_view name;
  std::string (*read)(StageReader& reader, ErrorFeedback& feedback); ///< Returns the canonical text.
};

constexpr std::array kFeedbackMakers{
    FeedbackMaker{"ef", readResidual},
    FeedbackMaker{"loco", readLoco},
    FeedbackMaker{"momentum", readMomentum},
};

Status readFeedback(std::string_view spec, const Stage& stage, const FeedbackMaker& maker, Compression& compression) {
  StageReader reader(stage);
  const std::string text = maker.read(reader, compression.feedback);
  if (compression.feedback.masked && !compression.codec->traits().sparse) {
    return wrong(spec, "momentum is masked where a sparsifier sent an element; begin with one, or give mask=0");
  }
  compression.spec += text;
  return reader.finish();
}

/// Codecs are made from the last stage to the first: each is handed what follows it.
Status makeChain(std::string_view spec, std::vector<Stage> stages, const Loops& loops, CodecPointer& made) {
  if (stages.empty() || find(kPickMakers, stages.back().name) != nullptr) {
    stages.push_back({"none", {}});
  }
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    StageReader reader(*stage);
    if (const PickMaker* pick = find(kPickMakers, stage->name)) {
      if (made->traits().multi_phase) {
        return wrong(spec, fmt::format("'{}' has phases of its own and stands alone", made->spec()));
      }
      made = pick->make(reader, std::move(made), loops);
    } else if (const ValueMaker* value = find(kValueMakers, stage->name)) {
      if (made != nullptr) {
        return wrong(spec, fmt::format("only 'ef', 'loco' or 'momentum' may follow '{}'", stage->name));
      }
      made = value->make(reader, loops);
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

std::span<const CodecEntry> builtinCodecs() { return kBuiltins; }

Result<Compression> makeCompression(std::string_view spec) { return makeCompression(spec, availableLoops().back()); }

Result<Compression> makeCompression(std::string_view spec, const Loops& loops) {
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
  const FeedbackMaker* feedback = find(kFeedbackMakers, stages.back().name);
  const Stage last = stages.back();
  if (feedback != nullptr) {
    stages.pop_back();
  }
  Compression compression;
  if (Status status = makeChain(spec, std::move(stages), loops, compression.codec); !status.isOk()) {
    return status;
  }
  compression.spec = compression.codec->spec();
  if (feedback != nullptr) {
    if (Status status = readFeedback(spec, last, *feedback, compression); !status.isOk()) {
      return status;
    }
  }
  return compression;
}

} // namespace goss::compressors
