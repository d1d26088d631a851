#include "call/codec_pair.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <numeric>

#include "base/invalid.h"
#include "builtins/builtins.h"

namespace goss {

namespace {

/// Number of elements for which the lengths of payloads and values are compared.
constexpr std::size_t kSampleElems = 1u << 16;

std::shared_ptr<const CodecPair> paired(Compression contribution, Compression result) {
  auto pair = std::make_shared<CodecPair>();
  pair->contribution = std::move(contribution);
  pair->result = std::move(result);
  pair->text = pair->contribution.spec == pair->result.spec
                   ? pair->contribution.spec
                   : fmt::format("{}', back '{}", pair->contribution.spec, pair->result.spec);
  pair->hash = XXH64(pair->text.data(), pair->text.size(), 0);
  return pair;
}

/// Refuses combinations that would be accepted and then have no effect.
Status checkPair(const Compression& contribution, const Compression& result) {
  const bool differ = contribution.spec != result.spec;
  for (const Compression* one : {&contribution, &result}) {
    if (!one->codec->traits().multi_phase) continue;
    if (differ) {
      return base::invalid(
          fmt::format("codec '{}' works in phases and has no way back of its own: leave return_codec out", one->spec));
    }
    if (one->feedback.server && !one->feedback.worker) {
      return base::invalid(
          fmt::format("codec '{}' works in phases, in which nobody encodes a sum: at=server would keep nothing; "
                      "use at=worker or leave it out",
                      one->spec));
    }
  }
  if (differ && (contribution.feedback.momentum != 0 || result.feedback.momentum != 0)) {
    return base::invalid(
        fmt::format("codec '{}', return_codec '{}': a momentum is part of what a rank sends, and such payloads are "
                    "gathered as they are: leave return_codec out",
                    contribution.spec, result.spec));
  }
  if (differ && contribution.feedback.server && !contribution.feedback.worker) {
    return base::invalid(
        fmt::format("codec '{}' encodes contributions only, since return_codec is '{}': at=server would "
                    "keep nothing; use at=worker",
                    contribution.spec, result.spec));
  }
  if (differ && result.feedback.worker && !result.feedback.server) {
    return base::invalid(fmt::format(
        "return_codec '{}' encodes results only: at=worker would keep nothing; use at=server", result.spec));
  }
  return Status::ok();
}

} // namespace

std::shared_ptr<const CodecPair> CodecPair::of(const std::shared_ptr<const Codec>& codec) {
  const std::string spec = codec->spec();
  return paired({spec, codec, {}}, {spec, codec, {}});
}

bool CodecPair::feedback() const {
  return contribution.feedback.worker || contribution.feedback.server || result.feedback.worker ||
         result.feedback.server;
}

bool CodecPair::mayRequantize() const {
  const auto harmless = [](const Compression& compression) {
    const CodecTraits traits = compression.codec->traits();
    return traits.additive || traits.lossless;
  };
  return harmless(contribution) && harmless(result) &&
         !feedback(); // No feedback could keep what a sum loses on its way.
}

bool CodecPair::addsPayloads(int ranks) const {
  if (!contribution.codec->traits().additive || contribution.codec->spec() != result.codec->spec()) return false;
  // Words of floats narrower than 32 bits do not grow with the number of ranks: each addition rounds. One decoding of
  // all payloads loses less.
  const std::uint32_t bits = contribution.codec->sumBits(static_cast<std::uint32_t>(ranks));
  return bits == 32 || (bits > 0 && bits != contribution.codec->sumBits(1));
}

std::uint64_t CodecPair::alignElems() const {
  const std::uint64_t first = contribution.codec->traits().block;
  const std::uint64_t second = result.codec->traits().block;
  if (first == 0 || second == 0) return std::max(first, second);
  return std::lcm(first, second);
}

std::size_t CodecPair::maxBytes(std::size_t elems) const {
  return std::max(contribution.codec->maxBytes(elems), result.codec->maxBytes(elems));
}

std::size_t CodecPair::scratchBytes(std::size_t elems) const {
  return std::max(contribution.codec->scratchBytes(elems), result.codec->scratchBytes(elems));
}

schedule::CodecPrice CodecPair::price(std::uint64_t element_bytes) const {
  // Speeds of one core that does other work too (goss-bench codec). Adding a sparse payload touches little of the
  // vector, but decoding one into an empty vector writes all of it. Random blocks are drawn again for each payload.
  constexpr double kDenseEncode = 4e9, kDenseDecode = 8e9, kDenseAdd = 8e9;
  constexpr double kSparseEncode = 4e9, kSparseDecode = 8e9, kSparseAdd = 100e9;
  const bool sparse = contribution.codec->traits().sparse;
  schedule::CodecPrice price;
  const double bytes =
      static_cast<double>(contribution.codec->maxBytes(kSampleElems) + result.codec->maxBytes(kSampleElems));
  price.payload_ratio = bytes / 2 / static_cast<double>(kSampleElems * element_bytes);
  price.encode_bytes_per_s = sparse ? kSparseEncode : kDenseEncode;
  price.decode_bytes_per_s = sparse ? kSparseDecode : kDenseDecode;
  price.add_bytes_per_s = sparse && !contribution.codec->traits().shared_random ? kSparseAdd : kDenseAdd;
  return price;
}

Result<Compression> CodecRegistry::make(std::string_view spec) const {
  constexpr std::string_view kFeedback = "+ef";
  const bool feedback = spec.ends_with(kFeedback);
  const auto own = own_.find(feedback ? spec.substr(0, spec.size() - kFeedback.size()) : spec);
  if (own != own_.end()) return Compression{std::string(spec), own->second, {feedback, feedback}};
  return makeCodec(spec);
}

Status CodecRegistry::add(const std::string& name, std::shared_ptr<const Codec> codec) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!plain) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("goss_codec_register: '{}' is no name; use a-z, 0-9 and '_'", name));
  }
  const std::lock_guard lock(mutex_);
  if (own_.contains(name) || makeCodec(name).isOk()) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("goss_codec_register: there is a codec '{}' already; take another name", name));
  }
  own_.emplace(name, std::move(codec));
  return Status::ok();
}

Result<std::shared_ptr<const CodecPair>> CodecRegistry::find(std::string_view contribution, std::string_view result) {
  const std::string key = fmt::format("{}\n{}", contribution, result);
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  Result<Compression> first = make(contribution);
  if (!first.isOk()) return first.status();
  Result<Compression> second = make(result.empty() ? contribution : result);
  if (!second.isOk()) return second.status();
  if (Status status = checkPair(first.value(), second.value()); !status.isOk()) return status;
  auto pair = paired(first.take(), second.take());
  known_.emplace(key, pair);
  return pair;
}

} // namespace goss
