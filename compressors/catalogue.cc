#include "compressors/catalogue.h"

#include <fmt/format.h>

#include <array>

#include "compressors/bagua/minmax_uint8.h"
#include "compressors/blockwise/blockwise.h"
#include "compressors/cast/cast.h"
#include "compressors/codebook/dynamic.h"
#include "compressors/codebook/uniform.h"
#include "compressors/dct/dct.h"
#include "compressors/forms.h"
#include "compressors/lossless/lossless.h"
#include "compressors/mx/mx.h"
#include "compressors/natural/natural.h"
#include "compressors/powersgd/powersgd.h"
#include "compressors/sign/sign.h"
#include "compressors/sparse/random_k.h"
#include "compressors/sparse/sparse.h"
#include "compressors/ternary/agreed.h"
#include "compressors/ternary/ternary.h"

namespace goss::compressors {

namespace {

using CodecPointer = std::shared_ptr<const Codec>;

/// Makes the CPU's codec of a stage that codes all values.
struct ValueMaker {
  const Loops& loops;

  CodecPointer operator()(const CastForm& form) const { return std::make_shared<CastCodec>(form.dtype, loops.common); }
  CodecPointer operator()(const BlockFormat& format) const {
    return std::make_shared<BlockwiseCodec>(format, loops.block);
  }
  CodecPointer operator()(const MxForm& form) const {
    return std::make_shared<MxCodec>(form.element, loops.common, loops.mx);
  }
  CodecPointer operator()(const NaturalForm& form) const {
    return std::make_shared<NaturalCodec>(form.nearest, loops.common, loops.natural);
  }
  CodecPointer operator()(const DynamicForm& form) const {
    return std::make_shared<DynamicCodec>(form.block, loops.common, loops.codebook);
  }
  CodecPointer operator()(const UniformForm&) const {
    return std::make_shared<UniformCodec>(loops.common, loops.codebook);
  }
  CodecPointer operator()(const SignForm& form) const {
    return std::make_shared<SignCodec>(form.root_mean_square ? SignCodec::Norm::l2 : SignCodec::Norm::l1, loops.common,
                                       loops.sign);
  }
  CodecPointer operator()(const TernarySettings& settings) const {
    return std::make_shared<TernaryCodec>(settings, loops.common, loops.ternary);
  }
  CodecPointer operator()(const AgreedTernaryForm& form) const {
    return std::make_shared<AgreedTernaryCodec>(form.clip, loops.common, loops.ternary);
  }
  CodecPointer operator()(const MinMaxUint8Form&) const {
    return std::make_shared<MinMaxUint8Codec>(loops.common, loops.minmax);
  }
  CodecPointer operator()(const DctForm& form) const {
    return std::make_shared<DctCodec>(form.chunk, form.keep, loops.common, loops.dct);
  }
  CodecPointer operator()(const LosslessForm&) const {
    return std::make_shared<LosslessCodec>(loops.common, loops.lossless);
  }
  CodecPointer operator()(const PowerSgdSettings& settings) const { return std::make_shared<PowerSgdCodec>(settings); }
};

/// Makes a sparsifier with the codec that follows it.
struct PickMaker {
  const Loops& loops;
  CodecPointer inner;

  CodecPointer operator()(const TopKForm& form) const {
    return sparse(form.sampled ? makeSampledTopK(form.ratio, loops.sparse) : makeExactTopK(form.ratio, loops.sparse));
  }
  CodecPointer operator()(const ThresholdForm& form) const { return sparse(makeThreshold(form.value, loops.sparse)); }
  CodecPointer operator()(const RandomKForm& form) const {
    return std::make_shared<RandomKCodec>(form.ratio, form.block, inner, loops.common, loops.sparse);
  }

 private:
  [[nodiscard]] CodecPointer sparse(std::unique_ptr<const Selector> selector) const {
    return std::make_shared<SparseCodec>(std::move(selector), inner, loops.common, loops.sparse);
  }
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

Status wrong(std::string_view spec, const std::string& what) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("codec '{}': {}", spec, what));
}

} // namespace

std::span<const CodecEntry> builtinCodecs() { return kBuiltins; }

std::shared_ptr<const Codec> makeCodec(const CodecForm& form, const Loops& loops) {
  CodecPointer codec = std::visit(ValueMaker{loops}, form.value);
  // each sparsifier is handed the codec that follows it
  for (auto pick = form.picks.rbegin(); pick != form.picks.rend(); ++pick) {
    codec = std::visit(PickMaker{loops, std::move(codec)}, *pick);
  }
  return codec;
}

Result<Compression> makeCompression(std::string_view spec) { return makeCompression(spec, availableLoops().back()); }

Result<Compression> makeCompression(std::string_view spec, const Loops& loops) {
  Result<CodecForm> read = readForm(spec);
  if (!read.isOk()) {
    return read.status();
  }
  CodecForm form = read.take();
  const CodecPointer value = std::visit(ValueMaker{loops}, form.value);
  if (!form.picks.empty() && value->traits().multi_phase) {
    return wrong(spec, fmt::format("'{}' has phases of its own and stands alone", value->spec()));
  }
  Compression compression;
  compression.codec = makeCodec(form, loops);
  compression.feedback = form.feedback;
  if (form.feedback.masked && !compression.codec->traits().sparse) {
    return wrong(spec, "momentum is masked where a sparsifier sent an element; begin with one, or give mask=0");
  }
  compression.spec = compression.codec->spec() + form.feedback_text;
  return compression;
}

} // namespace goss::compressors
