#include "compressors/cuda/device_codec.h"

#include <fmt/format.h>

#include <array>

#include "compressors/blockwise/blockwise.h"
#include "compressors/catalogue.h"
#include "compressors/cuda/cell_codec.h"
#include "compressors/cuda/integer_launches.h"
#include "compressors/cuda/scaled_codec.h"
#include "compressors/cuda/sparse_codec.h"
#include "compressors/spec.h"

namespace goss::compressors::cuda {

namespace {

using Made = std::unique_ptr<const DeviceCodec>;
using Host = std::shared_ptr<const Codec>;

Result<Made> unsupported(const Codec& host) {
  return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("codec '{}' has no kernels; encode on the host", host.spec()));
}

/// A sparsifier with what follows it.
Result<Made> makeSparse(const Stage& stage, Host host, Made inner) {
  StageReader reader(stage);
  const double ratio = reader.number("ratio", 0.01, {1e-6, 1});
  if (stage.name == "randk") {
    const std::size_t block = reader.block("block", 32, {1, kTileElems});
    return makeDeviceRandomK(ratio, block, std::move(host), std::move(inner));
  }
  if (reader.choice("select", {"exact", "sampled"}) != 0) {
    return unsupported(*host);
  }
  return makeDeviceTopK(ratio, std::move(host), std::move(inner));
}

/// A stage of a canonical spec, so that nothing is left out and nothing is wrong in it.
struct Maker {
  std::string_view name;
  Made (*make)(StageReader& reader, Host host);
};

constexpr StageReader::Range kAnyBlock = {32, kTileElems};

Made makeIntegers(BlockFormat format, Host host) {
  format.levels = blockLevels(format.bits, format.scheme);
  return std::make_unique<CellCodec>(std::move(host), CellFormat{format}, integerLaunches(format.scheme, format.block));
}

template <unsigned kBits>
Made makeInteger(StageReader& reader, Host host) {
  BlockFormat format;
  format.bits = kBits;
  format.block = reader.block("block", 256, kAnyBlock);
  const bool minmax = reader.choice("mode", {"symmetric", "minmax"}) == 1;
  const bool stochastic = reader.choice("round", {"nearest", "stochastic"}) == 1;
  format.scheme = minmax ? (stochastic ? BlockScheme::minmaxStochastic : BlockScheme::minmax)
                         : (stochastic ? BlockScheme::peakStochastic : BlockScheme::peak);
  return makeIntegers(format, std::move(host));
}

Made makeQsgd(StageReader& reader, Host host) {
  BlockFormat format;
  format.bits = static_cast<unsigned>(reader.block("bits", 8, {2, 8}));
  format.block = reader.block("block", 128, kAnyBlock);
  format.scheme = BlockScheme::norm;
  return makeIntegers(format, std::move(host));
}

/// Blocks of a size, and nothing else.
CellFormat blocksOf(std::size_t block) {
  CellFormat format;
  format.block.block = block;
  return format;
}

Made makeDynamic(StageReader& reader, Host host) {
  const std::size_t block = reader.block("block", 4096, kAnyBlock);
  return std::make_unique<CellCodec>(std::move(host), blocksOf(block), dynamicLaunches(block));
}

template <MxElement kElement>
Made makeMx(StageReader&, Host host) {
  return std::make_unique<CellCodec>(std::move(host), blocksOf(kMxBlock), mxLaunches(kElement));
}

Made makeNatural(StageReader& reader, Host host) {
  const bool nearest = reader.choice("round", {"stochastic", "nearest"}) == 1;
  return std::make_unique<CellCodec>(std::move(host), blocksOf(kRunElems), naturalLaunches(nearest));
}

template <DType kDType>
Made makeCast(StageReader&, Host host) {
  return std::make_unique<CellCodec>(std::move(host), blocksOf(kRunElems), castLaunches(kDType));
}

Made makeSign(StageReader& reader, Host host) {
  ScaledSettings settings;
  settings.kind = reader.choice("norm", {"l1", "l2"}) == 0 ? ScaleKind::meanMagnitude : ScaleKind::rootMeanSquare;
  return std::make_unique<ScaledCodec>(std::move(host), settings, signLaunches());
}

Made makeTernary(StageReader& reader, Host host) {
  ScaledSettings settings;
  settings.kind = ScaleKind::ternary;
  settings.clip = static_cast<float>(reader.number("clip", 2.5, {0, 1000}));
  settings.shared_scale = static_cast<float>(reader.number("scale", 0, {0, 1e30}));
  const std::uint64_t ranks = reader.integer("ranks", 1, {1, 127});
  const CellLaunches launches = ternaryLaunches(ranks == 1 ? 2 : ranks <= 7 ? 4 : 8);
  return std::make_unique<ScaledCodec>(std::move(host), settings, launches);
}

constexpr std::array kMakers{
    Maker{"none", makeCast<GOSS_FLOAT32>},
    Maker{"fp16", makeCast<GOSS_FLOAT16>},
    Maker{"bf16", makeCast<GOSS_BFLOAT16>},
    Maker{"e4m3", makeCast<GOSS_FLOAT8_E4M3>},
    Maker{"e5m2", makeCast<GOSS_FLOAT8_E5M2>},
    Maker{"int8", makeInteger<8>},
    Maker{"int6", makeInteger<6>},
    Maker{"int4", makeInteger<4>},
    Maker{"int2", makeInteger<2>},
    Maker{"qsgd", makeQsgd},
    Maker{"mxfp8", makeMx<MxElement::e4m3>},
    Maker{"mxfp4", makeMx<MxElement::e2m1>},
    Maker{"e3m0", makeMx<MxElement::e3m0>},
    Maker{"natural", makeNatural},
    Maker{"dynamic8", makeDynamic},
    Maker{"sign", makeSign},
    Maker{"terngrad", makeTernary},
};

} // namespace

Result<std::unique_ptr<const DeviceCodec>> makeDeviceCodec(std::string_view spec) {
  auto compression = makeCompression(spec);
  if (!compression.isOk()) {
    return compression.status();
  }
  Host host = compression.value().codec;
  const std::vector<Stage> stages = parseSpec(host->spec()).take();
  for (const Maker& maker : kMakers) {
    if (stages.size() == 1 && maker.name == stages.front().name && !host->traits().multi_phase) {
      StageReader reader(stages.front());
      return maker.make(reader, std::move(host));
    }
  }
  if (stages.front().name == "topk" || stages.front().name == "randk") {
    const std::string whole = host->spec();
    auto inner = makeDeviceCodec(whole.substr(whole.find('+') + 1));
    if (!inner.isOk()) {
      return inner.status();
    }
    return makeSparse(stages.front(), std::move(host), inner.take());
  }
  return unsupported(*host);
}

} // namespace goss::compressors::cuda
