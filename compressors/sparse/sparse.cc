#include "compressors/sparse/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/wire.h"
#include "compressors/common/jobs.h"
#include "compressors/sparse/index_set.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

constexpr std::size_t kCountBytes = sizeof(std::uint32_t);

std::size_t heldBy(PayloadView payload) { return base::loadLittleEndian<std::uint32_t>(payload.data()); }

} // namespace

CodecTraits SparseCodec::traits() const {
  const CodecTraits inside = inner().traits();
  CodecTraits traits;
  traits.sparse = true;
  traits.stochastic = inside.stochastic;
  traits.shared_random = inside.shared_random;
  traits.idempotent = selector_->stable() && inside.lossless;
  traits.block = 0;
  return traits;
}

LossBound SparseCodec::lossBound(std::size_t count, bool feedback) const {
  LossBound loss = lossOfPicked(selector_->share(count), count, feedback);
  loss.floor = std::max(loss.floor, selector_->passedOver());
  return loss;
}

std::size_t SparseCodec::headBytes(std::size_t count, std::size_t held) const {
  return kCountBytes + (packs_ ? PackedIndices(count, held).bytes : indexBytes(count, held));
}

void SparseCodec::readHeld(PayloadView payload, std::size_t count, std::span<std::uint32_t> indices) const {
  (packs_ ? readPackedIndices : readIndices)(bytesOf(payload) + kCountBytes, count, indices);
}

std::size_t SparseCodec::maxBytes(std::size_t count) const {
  const std::size_t some = most(count);
  return headBytes(count, some) + inner().maxBytes(some);
}

std::size_t SparseCodec::lengthOf(PayloadView bytes, std::size_t count) const {
  if (bytes.size() < kCountBytes) {
    return bytes.size();
  }
  const std::size_t held = std::min(heldBy(bytes), most(count)), head = headBytes(count, held);
  return bytes.size() < head ? bytes.size() : head + inner().lengthOf(bytes.subspan(head), held);
}

std::size_t SparseCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  const Workspace work = workspace(in.scratch, in.count);
  const std::size_t held = selector_->select(in.values, in.count, work.indices.data());
  for (std::size_t i = 0; i < held; ++i) {
    work.values[i] = in.values[work.indices[i]];
  }
  base::storeLittleEndian(to, static_cast<std::uint32_t>(held));
  (packs_ ? writePackedIndices : writeIndices)(work.indices.first(held), in.count, to + kCountBytes);
  const std::size_t head = headBytes(in.count, held);
  return head + encodeInner(in, work, held, to + head);
}

void SparseCodec::decodeVector(PayloadView payload, const VectorOut& out) const {
  const Workspace work = workspace(out.scratch, out.count);
  const std::size_t held = heldBy(payload);
  const PayloadView values = payload.subspan(headBytes(out.count, held));
  decodeInner({&values, 1}, out, work, held);
  const unsigned char* indices = bytesOf(payload) + kCountBytes;
  if (packs_ ? PackedIndices(out.count, held).is_bitmap : isBitmap(out.count, held)) {
    sparse_loops_.deliverMarked(out.out, indices, out.count, work.values.data(), held, out.delivery);
    return;
  }
  readHeld(payload, out.count, work.indices.first(held));
  scatter(out, work, held);
}

std::string SparseCodec::flawOf(PayloadView payload, std::size_t count) const {
  if (payload.size() < kCountBytes) {
    return "it ends before its number of elements";
  }
  const std::size_t held = heldBy(payload);
  if (held > most(count) || (selector_->takesMost() && held != most(count))) {
    return fmt::format("it says that it holds {} elements", held);
  }
  const std::size_t head = headBytes(count, held);
  if (payload.size() < head) {
    return "it ends within its indices";
  }
  const auto indices_flaw = packs_ ? packedIndicesFlaw : indicesFlaw;
  if (std::string flaw = indices_flaw(bytesOf(payload) + kCountBytes, count, held, sparse_loops_); !flaw.empty()) {
    return flaw;
  }
  return inner().check(payload.subspan(head), held).text();
}

Result<std::size_t> SparseCodec::selected(PayloadView payload, std::size_t count, const SharedStream&, std::uint64_t,
                                          std::span<std::uint32_t> out) const {
  if (Status status = check(payload, count); !status.isOk()) {
    return status;
  }
  const std::size_t held = heldBy(payload);
  readHeld(payload, count, out.first(held));
  return held;
}

void SparseCodec::countPresent(PayloadView payload, const VectorOut& out, std::uint32_t* senders) const {
  const Workspace work = workspace(out.scratch, out.count);
  const std::size_t held = heldBy(payload);
  readHeld(payload, out.count, work.indices.first(held));
  for (std::size_t i = 0; i < held; ++i) {
    ++senders[work.indices[i]];
  }
}

namespace {

constexpr std::string_view kIndices = "2 bytes each, packed about 1, or a bit map";
constexpr std::string_view kFormat = "held elements k (4 bytes); indices; the next stage's payload of k elements";

bool readPacks(StageReader& reader) { return reader.choice("indices", {"plain", "packed"}) == 1; }

template <typename Make>
Sparsifier made(bool packs, Make make_selector, const SparsifierKernels& kernels) {
  return {[=](CodecPointer inner, const Loops& loops) {
            return std::make_shared<SparseCodec>(make_selector(loops.sparse), packs, std::move(inner), loops.common,
                                                 loops.sparse);
          },
          kernels};
}

Sparsifier readTopK(StageReader& reader) {
  const double ratio = reader.number("ratio", 0.01, {1e-6, 1});
  const bool sampled = reader.choice("select", {"exact", "sampled"}) == 1;
  const bool packs = readPacks(reader);
  return made(
      packs,
      [=](const SparseLoops& loops) { return sampled ? makeSampledTopK(ratio, loops) : makeExactTopK(ratio, loops); },
      TopKSettings{ratio, sampled, packs});
}

Sparsifier readThreshold(StageReader& reader) {
  const auto value = static_cast<float>(reader.number("value", 1e-3, {0, 1e30}));
  const bool packs = readPacks(reader);
  return made(
      packs, [value](const SparseLoops& loops) { return makeThreshold(value, loops); },
      ThresholdSettings{value, packs});
}

} // namespace

std::span<const SparsifierStage> sparseStages() {
  static const std::array kStages = {
      SparsifierStage{"topk",
                      {kIndices,
                       "the largest magnitudes, of equal ones the first; or those above a sampled threshold, where one "
                       "is found that 80 to 100 % of `ratio` reach",
                       "Aji 2017, DGC", kFormat},
                      {"topk:ratio=0.01,select=exact+none",
                       "topk:ratio=0.01,select=exact+int8:block=256,mode=symmetric,round=nearest",
                       "topk:ratio=0.25,select=exact+int4:block=128,mode=symmetric,round=nearest",
                       "topk:ratio=0.01,select=sampled+none", "topk:ratio=0.01,select=exact,indices=packed+none"},
                      readTopK},
      SparsifierStage{"threshold",
                      {kIndices, "magnitudes of at least `value`", "Strom 2015", kFormat},
                      {"threshold:value=2+none"},
                      readThreshold},
  };
  return kStages;
}

} // namespace goss::compressors
