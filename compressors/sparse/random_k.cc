#include "compressors/sparse/random_k.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/philox.h"

namespace goss::compressors {

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
  const Runs runs = runsOf(count);
  for (std::size_t run = 0; run < runs.chosen; ++run) {
    const std::size_t begin = run * runs.blocks / runs.chosen, end = (run + 1) * runs.blocks / runs.chosen;
    // The stream's place is that of the run within the tensor, so that segments choose independently.
    const kernels::Random128 random = kernels::philox(shared.key(), first_element + begin * runs.block);
    const std::uint64_t draw = random.word0 | static_cast<std::uint64_t>(random.word1 & 0x7fffu) << 32; // 47 bits
    const auto offset = static_cast<std::size_t>(((draw >> 15) * (end - begin)) >> 32);
    const std::size_t first = (begin + offset) * runs.block;
    use(run * runs.block, first, std::min(runs.block, count - first));
  }
}

std::size_t RandomKCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  const Workspace work = workspace(in.scratch, in.count);
  const std::size_t block = runsOf(in.count).block;
  forChosen(in.count, in.random.shared, in.first_element, [&](std::size_t at, std::size_t first, std::size_t some) {
    std::copy_n(in.values + first, some, work.values.begin() + static_cast<std::ptrdiff_t>(at));
    std::fill_n(work.values.begin() + static_cast<std::ptrdiff_t>(at + some), block - some, 0.0f);
  });
  return encodeInner(in, work, work.values.size(), to);
}

void RandomKCodec::decodeVector(PayloadView payload, const VectorOut& out) const {
  const Workspace work = workspace(out.scratch, out.count);
  decodeInner(payload, out, work, work.values.size());
  if (out.delivery.mode == DecodeMode::set) {
    std::fill_n(out.out, out.count, 0.0f);
  }
  forChosen(out.count, out.shared, out.first_element, [&](std::size_t at, std::size_t first, std::size_t some) {
    Delivery delivery = out.delivery;
    delivery.mode = delivery.mode == DecodeMode::set ? DecodeMode::add : delivery.mode;
    loops().deliver(out.out + first, work.values.data() + at, some, delivery);
  });
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
  forChosen(count, shared, first_element, [&](std::size_t, std::size_t first, std::size_t some) {
    for (std::size_t i = 0; i < some; ++i) {
      out[held++] = static_cast<std::uint32_t>(first + i);
    }
  });
  return held;
}

void RandomKCodec::countPresent(PayloadView, const VectorOut& out, std::uint32_t* senders) const {
  forChosen(out.count, out.shared, out.first_element, [&](std::size_t, std::size_t first, std::size_t some) {
    for (std::size_t i = 0; i < some; ++i) {
      ++senders[first + i];
    }
  });
}

} // namespace goss::compressors
