#include "compressors/sparse/random_k.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "compressors/stage.h"

namespace goss::compressors {

namespace {

constexpr std::size_t kLongElems = 1u << 20; ///< 4 MiB, of which a second-level cache keeps little.

} // namespace

std::string RandomKCodec::spec() const {
  return fmt::format("randk:ratio={},block={}+{}", ratio_, block_, inner().spec());
}

CodecTraits RandomKCodec::traits() const {
  const CodecTraits inside = inner().traits();
  CodecTraits traits;
  traits.additive = inside.additive;
  traits.fixed_size = inside.fixed_size;
  traits.idempotent = inside.idempotent && inside.lossless;
  traits.stochastic = inside.stochastic;
  traits.shared_random = true;
  traits.sparse = true;
  traits.block = 0;
  return traits;
}

/// A block of the longest run of blocks has the lowest probability to be sent.
LossBound RandomKCodec::lossBound(std::size_t count, bool feedback) const {
  const Runs runs = runsOf(count);
  const std::size_t longest = runs.chosen == 0 ? 1 : (runs.blocks + runs.chosen - 1) / runs.chosen;
  return lossOfPicked(1 / static_cast<double>(longest), count, feedback);
}

RandomKCodec::Runs RandomKCodec::runsOf(std::size_t count) const {
  if (count == 0) {
    return {1, 0, 0};
  }
  const std::size_t block = std::min(block_, count), blocks = (count + block - 1) / block;
  const auto chosen = static_cast<std::size_t>(std::ceil(ratio_ * static_cast<double>(blocks)));
  return {block, blocks, std::min(chosen, blocks)};
}

std::size_t RandomKCodec::most(std::size_t count) const {
  const Runs runs = runsOf(count);
  return runs.chosen * runs.block;
}

template <typename Function>
void RandomKCodec::forChosen(std::size_t count, const SharedStream& shared, std::uint64_t first_element,
                             Function use) const {
  constexpr std::size_t kTogether = 256;
  const Runs runs = runsOf(count);
  std::array<std::size_t, kTogether + 1> begin;
  std::array<std::size_t, kTogether> first;
  std::array<std::uint64_t, kTogether> places;
  std::array<std::uint32_t, kTogether> draws;
  for (std::size_t run = 0; run < runs.chosen; run += kTogether) {
    const std::size_t some = std::min(kTogether, runs.chosen - run);
    for (std::size_t i = 0; i <= some; ++i) {
      begin[i] = (run + i) * runs.blocks / runs.chosen;
    }
    // The stream's number is the position of the run within the tensor, so that segments choose independently.
    for (std::size_t i = 0; i < some; ++i) {
      places[i] = first_element + begin[i] * runs.block;
    }
    sparse_loops_.draw(shared.key(), places.data(), some, draws.data());
    for (std::size_t i = 0; i < some; ++i) {
      const std::size_t offset = (std::uint64_t{draws[i]} * (begin[i + 1] - begin[i])) >> 32;
      first[i] = (begin[i] + offset) * runs.block;
    }
    const std::size_t last = count - first[some - 1], rest = last < runs.block ? last : 0;
    const Blocks blocks{first.data(), rest == 0 ? some : some - 1, runs.block};
    use(Chosen{blocks, run * runs.block, begin[0] * runs.block, std::min(count, begin[some] * runs.block), rest});
  }
}

template <typename Function>
void RandomKCodec::forEach(std::size_t count, const SharedStream& shared, std::uint64_t first_element,
                           Function use) const {
  forChosen(count, shared, first_element, [&](const Chosen& chosen) {
    for (std::size_t i = 0; i < chosen.blocks.count; ++i) {
      for (std::size_t k = 0; k < chosen.blocks.block; ++k) {
        use(chosen.blocks.first[i] + k);
      }
    }
    for (std::size_t element = count - chosen.rest; element < count; ++element) {
      use(element);
    }
  });
}

std::size_t RandomKCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  const Workspace work = workspace(in.scratch, in.count);
  forChosen(in.count, in.random.shared, in.first_element, [&](const Chosen& chosen) {
    float* values = work.values.data() + chosen.at;
    sparse_loops_.pick(in.values, chosen.blocks, values);
    if (chosen.rest != 0) {
      values += chosen.blocks.count * chosen.blocks.block;
      std::copy_n(in.values + in.count - chosen.rest, chosen.rest, values);
      std::fill_n(values + chosen.rest, chosen.blocks.block - chosen.rest, 0.0f);
    }
  });
  return encodeInner(in, work, work.values.size(), to);
}

void RandomKCodec::decodeSum(std::span<const PayloadView> payloads, const VectorOut& out) const {
  const Workspace work = workspace(out.scratch, out.count);
  decodeInner(payloads, out, work, work.values.size());
  forChosen(out.count, out.shared, out.first_element, [&](const Chosen& chosen) {
    const float* values = work.values.data() + chosen.at;
    const Blocks& blocks = chosen.blocks;
    sparse_loops_.lay({out.out, chosen.begin, chosen.end, out.count >= kLongElems}, blocks, values);
    for (std::size_t i = 0; i < chosen.rest; ++i) {
      out.out[out.count - chosen.rest + i] = 0.0f + values[blocks.count * blocks.block + i];
    }
  });
}

void RandomKCodec::decodeVectors(std::span<const PayloadView> payloads, const VectorOut& out) const {
  if (out.delivery.mode == DecodeMode::set && !payloads.empty()) {
    decodeSum(payloads, out);
    return;
  }
  const Workspace work = workspace(out.scratch, out.count);
  for (const PayloadView payload : payloads) {
    decodeInner({&payload, 1}, out, work, work.values.size());
    forChosen(out.count, out.shared, out.first_element, [&](const Chosen& chosen) {
      const float* values = work.values.data() + chosen.at;
      const Blocks& blocks = chosen.blocks;
      for (std::size_t i = 0; i < blocks.count; ++i) {
        loops().deliver(out.out + blocks.first[i], values + i * blocks.block, blocks.block, out.delivery);
      }
      loops().deliver(out.out + out.count - chosen.rest, values + blocks.count * blocks.block, chosen.rest,
                      out.delivery);
    });
  }
}

std::string RandomKCodec::flawOf(PayloadView payload, std::size_t count) const {
  return inner().check(payload, most(count)).text();
}

Status RandomKCodec::addPayload(PayloadView payload, std::size_t count, std::span<std::byte> into) const {
  return traits().additive ? inner().addPayload(payload, most(count), into) : unsupported("addPayload");
}

Result<std::size_t> RandomKCodec::selected(PayloadView payload, std::size_t count, const SharedStream& shared,
                                           std::uint64_t first_element, std::span<std::uint32_t> out) const {
  if (Status status = check(payload, count); !status.isOk()) {
    return status;
  }
  std::size_t held = 0;
  forEach(count, shared, first_element,
          [&](std::size_t element) { out[held++] = static_cast<std::uint32_t>(element); });
  return held;
}

void RandomKCodec::countPresent(PayloadView, const VectorOut& out, std::uint32_t* senders) const {
  forEach(out.count, out.shared, out.first_element, [&](std::size_t element) { ++senders[element]; });
}

namespace {

Sparsifier read(StageReader& reader) {
  const double ratio = reader.number("ratio", 0.01, {1e-6, 1});
  const std::size_t block = reader.block("block", 32, {1, kTileElems});
  return {[=](CodecPointer inner, const Loops& loops) {
            return std::make_shared<RandomKCodec>(ratio, block, std::move(inner), loops.common, loops.sparse);
          },
          RandomKSettings{ratio, block}};
}

} // namespace

std::span<const SparsifierStage> randomKStages() {
  static const std::array kStages = {
      SparsifierStage{
          "randk",
          {"none: all ranks draw the same blocks",
           "one random block of each run of blocks; additive with `none` and casts; above `ratio=0.5` some blocks are "
           "always sent",
           "Stich 2018", "the next stage's payload of the chosen blocks; a shorter last block is filled up with zeros"},
          {"randk:ratio=0.1,block=32+none",
           "randk:ratio=0.1,block=32+topk:ratio=0.2,select=exact+int4:block=128,mode=symmetric,round=nearest"},
          read},
  };
  return kStages;
}

} // namespace goss::compressors
