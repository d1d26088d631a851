#include "compressors/cuda/codecs/device_catalogue.h"

#include <fmt/format.h>

#include "compressors/chain.h"
#include "compressors/cuda/codecs/dct_codec.h"
#include "compressors/cuda/codecs/hadamard_codec.h"
#include "compressors/cuda/codecs/powersgd_codec.h"
#include "compressors/cuda/codecs/scaled_codec.h"
#include "compressors/cuda/codecs/segment_codecs.h"
#include "compressors/cuda/codecs/sparse_codec.h"
#include "compressors/cuda/device/block_codec.h"
#include "compressors/cuda/device/integer_launches.h"

namespace goss::compressors::cuda {

namespace {

using Made = std::unique_ptr<const DeviceCodec>;
using Host = std::shared_ptr<const Codec>;

Status unsupported(const Codec& host, std::string_view why) {
  return Status::error(GOSS_ERR_UNSUPPORTED,
                       fmt::format("codec '{}' has no kernels: {}; copy the vector to host memory "
                                   "and encode it there",
                                   host.spec(), why));
}

/// The format of a codec that has blocks of this size and no other parameter. `bits`: of a code.
KernelFormat blocksOf(std::size_t block, unsigned bits = 8) {
  KernelFormat format;
  format.block.block = block;
  format.block.bits = bits;
  return format;
}

/// Makes the device codec of a stage that codes all values.
struct ValueMaker {
  Host host;

  Result<Made> operator()(const NoKernels& none) const { return unsupported(*host, none.reason); }
  Result<Made> operator()(const CastSettings& form) const {
    return blockwise(blocksOf(kRunElems), castLaunches(form.dtype));
  }
  Result<Made> operator()(const BlockFormat& format) const {
    return blockwise(KernelFormat{format}, integerLaunches(format.scheme, format.block));
  }
  Result<Made> operator()(const MxSettings& form) const {
    return blockwise(blocksOf(kMxBlock, mxBits(form.element)), mxLaunches(form.element));
  }
  Result<Made> operator()(const NaturalSettings& form) const {
    return blockwise(blocksOf(kRunElems), naturalLaunches(form.nearest));
  }
  Result<Made> operator()(const DynamicSettings& form) const {
    return blockwise(blocksOf(form.block), dynamicLaunches(form.block));
  }
  Result<Made> operator()(const NormalSettings& form) const {
    return blockwise(blocksOf(form.block, 4), normalLaunches(form.block));
  }
  Result<Made> operator()(const NvFp4Settings&) const { return blockwise(blocksOf(kNvBlock, 4), nvFp4Launches()); }
  Result<Made> operator()(const SignSettings& form) const {
    ScaledSettings settings;
    settings.kind = form.root_mean_square ? ScaleKind::rootMeanSquare : ScaleKind::meanMagnitude;
    return made(std::make_unique<ScaledCodec>(host, settings, signLaunches()));
  }
  Result<Made> operator()(const TernarySettings& form) const {
    ScaledSettings settings;
    settings.kind = ScaleKind::ternary;
    settings.clip = form.clip;
    settings.shared_scale = form.scale;
    return made(std::make_unique<ScaledCodec>(host, settings, ternaryLaunches(ternaryBits(form.ranks))));
  }
  Result<Made> operator()(const UniformSettings&) const { return made(std::make_unique<UniformDeviceCodec>(host)); }
  Result<Made> operator()(const MinMaxUint8Settings&) const { return made(std::make_unique<MinMaxDeviceCodec>(host)); }
  Result<Made> operator()(const DctSettings& form) const {
    return made(std::make_unique<DctDeviceCodec>(host, form.chunk, form.keep));
  }
  Result<Made> operator()(const PowerSgdSettings& settings) const {
    return made(std::make_unique<PowerSgdDeviceCodec>(host, settings));
  }

 private:
  [[nodiscard]] Result<Made> blockwise(const KernelFormat& format, const CodecLaunches& launches) const {
    return made(std::make_unique<BlockDeviceCodec>(host, format, launches));
  }
  [[nodiscard]] static Made made(Made codec) { return codec; }
};

/// Makes a sparsifier with the codec that follows it.
struct SparsifierMaker {
  Host host;
  Made& inner;

  Result<Made> operator()(const NoKernels& none) const { return unsupported(*host, none.reason); }
  Result<Made> operator()(const TopKSettings& form) const {
    return !form.sampled || blocksFollow() ? makeDeviceTopK(form, host, std::move(inner)) : tooFew();
  }
  Result<Made> operator()(const ThresholdSettings& form) const {
    return blocksFollow() ? makeDeviceThreshold(form, host, std::move(inner)) : tooFew();
  }
  Result<Made> operator()(const HadamardSettings& form) const {
    Made made = std::make_unique<HadamardDeviceCodec>(host, form.chunk, std::move(inner));
    return made;
  }
  Result<Made> operator()(const RandomKSettings& form) const {
    return makeDeviceRandomK(form.ratio, form.block, host, std::move(inner));
  }

 private:
  [[nodiscard]] bool blocksFollow() const { return dynamic_cast<const BlockDeviceCodec*>(inner.get()) != nullptr; }
  [[nodiscard]] Result<Made> tooFew() const {
    return unsupported(*host, fmt::format("how many values are picked the device alone knows, and '{}' looks at all of "
                                          "them first; follow the threshold with a codec that has blocks of its own "
                                          "or none, such as int8, take select=exact",
                                          inner->host().spec()));
  }
};

Result<Made> makeOf(const CodecChain& chain, const Loops& loops) {
  Host host = makeCodec(chain, loops);
  if (chain.sparsifiers.empty()) {
    return std::visit(ValueMaker{std::move(host)}, chain.value.kernels);
  }
  CodecChain rest = chain;
  rest.sparsifiers.erase(rest.sparsifiers.begin());
  Result<Made> inner = makeOf(rest, loops);
  if (!inner.isOk()) {
    return inner.status();
  }
  Made made = inner.take();
  return std::visit(SparsifierMaker{std::move(host), made}, chain.sparsifiers.front().kernels);
}

} // namespace

Result<std::unique_ptr<const DeviceCodec>> makeDeviceCodec(std::string_view spec) {
  if (const auto compression = makeCompression(spec); !compression.isOk()) {
    return compression.status();
  }
  return makeOf(readChain(spec).take(), availableLoops().back());
}

} // namespace goss::compressors::cuda
