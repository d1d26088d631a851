/// libFuzzer target: arbitrary bytes as a payload of any codec, as exported references, or as what a synchronizer has
/// saved. Input: which codec, or one of these two (1 byte), number of elements (2 bytes), payload. Whatever passes
/// check() is decoded in every mode; sanitizers watch.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "compressors/catalogue.h"
#include "compressors/chain.h"
#include "state/reference_store.h"
#include "sync/outer_state.h"

namespace {

using goss::Codec;
using goss::DecodeMode;

std::vector<std::shared_ptr<const Codec>> allCodecs() {
  std::vector<std::shared_ptr<const Codec>> codecs;
  for (const auto& entry : goss::compressors::builtinCodecs()) {
    auto made = goss::compressors::makeCompression(entry.example);
    if (made.isOk() && !made.value().codec->traits().multi_phase) {
      codecs.push_back(made.value().codec);
    }
  }
  return codecs;
}

void require(bool condition) {
  if (!condition) std::abort();
}

void tryReferences(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  goss::ReferenceStore store;
  if (store.importAll(bytes).isOk()) {
    require(store.exportAll() == bytes);
  }
}

/// Twice, since a second rank's state has to fit the first one's.
void tryOuterState(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  goss::sync::OuterState state;
  for (int rank = 0; rank < 2; ++rank) {
    goss::base::WireReader reader(bytes);
    if (!state.add(reader)) {
      return;
    }
  }
  state.finish();
  const goss::sync::OuterTensor* tensor = state.find("a", 3);
  for (const auto& [role, values] : tensor != nullptr ? tensor->feedback() : decltype(tensor->feedback())()) {
    require(values.size() == 3);
  }
}

void tryPayload(const Codec& codec, goss::PayloadView payload, std::size_t count) {
  const bool sound = codec.check(payload, count).isOk();
  std::vector<std::byte> scratch(codec.scratchBytes(count) + 64);
  const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
  std::vector<float> out(count);
  for (const DecodeMode mode : {DecodeMode::set, DecodeMode::add, DecodeMode::axpy, DecodeMode::meanOfPresent}) {
    goss::DecodeJob job;
    job.payloads = {&payload, 1};
    job.out = out;
    job.mode = mode;
    job.weight = 0.5f;
    job.scratch = std::span(scratch).subspan((64 - address % 64) % 64);
    require(codec.decode(job).isOk() == sound);
  }
  if (sound && codec.traits().sparse) {
    std::vector<std::uint32_t> indices(count);
    const auto held = codec.selected(payload, count, {}, 0, indices);
    require(held.isOk() && held.value() <= count);
    require(std::is_sorted(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(held.value())));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto codecs = allCodecs();
  if (size < 3) {
    return 0;
  }
  const std::size_t which = data[0] % (codecs.size() + 2), count = (data[1] | data[2] << 8) % 9000u;
  if (which == codecs.size()) {
    tryReferences(data + 3, size - 3);
    return 0;
  }
  if (which == codecs.size() + 1) {
    tryOuterState(data + 3, size - 3);
    return 0;
  }
  // A copy of exactly this length, so that the sanitizers see a read behind it.
  const std::vector<std::byte> payload(reinterpret_cast<const std::byte*>(data) + 3,
                                       reinterpret_cast<const std::byte*>(data) + size);
  tryPayload(*codecs[which], payload, count);
  return 0;
}
