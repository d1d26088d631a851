#include "sync/outer_state.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <utility>

#include "sync/saved_vectors.h"

namespace goss::sync {

namespace {

constexpr std::size_t kMaxNameBytes = 1 << 16;
/// Rules keep up to 4 vectors for each round of a topology. Vectors of a damaged state take no memory before their
/// bytes are there.
constexpr std::uint64_t kMaxVectors = 4096;
constexpr std::size_t kReferencesHeaderBytes = 8; // magic and version

bool addFloats(base::WireReader& reader, std::uint64_t count, std::vector<double>& sum) {
  // The vector grows as bytes come, so that a damaged count does not allocate all memory.
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(std::bit_cast<float>(reader.integer<std::uint32_t>()));
    if (!reader.ok()) {
      return false;
    }
    if (i == sum.size()) {
      sum.push_back(0);
    }
    sum[i] += value;
  }
  return true;
}

std::vector<float> meanOf(const std::vector<double>& sum, std::uint64_t holders) {
  std::vector<float> mean;
  mean.reserve(sum.size());
  for (const double value : sum) { // exact for equal floats, and so is the mean
    mean.push_back(static_cast<float>(value / static_cast<double>(holders)));
  }
  return mean;
}

bool isFeedback(ReferenceRole role) {
  return role == ReferenceRole::worker || role == ReferenceRole::server || role == ReferenceRole::momentum ||
         role == ReferenceRole::velocity;
}

} // namespace

/// For each element only pieces that a rank has used since it inherited them count; inherited ones count where there
/// are no others.
std::map<ReferenceRole, std::vector<float>> OuterTensor::feedback() const {
  struct Element {
    double taken = 0, inherited = 0;
    std::uint32_t taken_by = 0, inherited_by = 0;
  };
  std::map<ReferenceRole, std::vector<Element>> roles;
  for (const FeedbackPiece& piece : pieces) {
    std::vector<Element>& of_role = roles[piece.role];
    of_role.resize(elements);
    for (std::size_t i = 0; i < piece.values.size(); ++i) {
      Element& element = of_role[piece.first + i];
      (piece.is_inherited ? element.inherited : element.taken) += static_cast<double>(piece.values[i]);
      ++(piece.is_inherited ? element.inherited_by : element.taken_by);
    }
  }
  std::map<ReferenceRole, std::vector<float>> result;
  for (const auto& [role, of_role] : roles) {
    std::vector<float>& values = result[role];
    for (const Element& element : of_role) {
      // A shard has one owner; for a rank's own encodings the loss is the mean over all ranks.
      const double ranks = role == ReferenceRole::server ? element.taken_by : static_cast<double>(senders);
      const double value = element.taken_by > 0       ? element.taken / ranks
                           : element.inherited_by > 0 ? element.inherited / element.inherited_by
                                                      : 0.0;
      values.push_back(static_cast<float>(value));
    }
  }
  return result;
}

bool OuterState::add(base::WireReader& reader) {
  Parts tensors;
  if (!addTensors(reader, tensors)) {
    return false;
  }
  std::vector<Parts> fragments, buckets;
  for (auto left = reader.integer<std::uint64_t>(); left > 0; --left) {
    if (!readParts(reader, tensors, fragments.emplace_back()) || !addFragment(reader, fragments.back())) {
      return false;
    }
  }
  for (auto left = reader.integer<std::uint64_t>(); left > 0; --left) {
    if (!readParts(reader, tensors, buckets.emplace_back()) || !addBucket(reader, buckets.back())) {
      return false;
    }
  }
  const std::string_view codecs = reader.raw(reader.integer<std::uint64_t>());
  return reader.ok() && addCodecs(codecs, fragments.empty() ? buckets : fragments);
}

/// A duplicate name makes the bytes malformed.
bool OuterState::addTensors(base::WireReader& reader, Parts& tensors) {
  std::set<const Sum*> seen;
  for (auto left = reader.integer<std::uint64_t>(); left > 0; --left) {
    const std::string name(reader.text(kMaxNameBytes));
    const auto elements = reader.integer<std::uint64_t>();
    if (!reader.ok()) {
      return false;
    }
    const auto [place, is_new] = sums_.try_emplace(name);
    Sum& sum = place->second;
    if (is_new) {
      sum.elements = elements;
    }
    if (sum.elements != elements || !seen.insert(&sum).second) {
      return false;
    }
    tensors.push_back(&sum);
  }
  return reader.ok();
}

/// All vectors together have less than 2^64 elements; otherwise offsets of tensors could wrap around, and the losses of
/// one range would be copied again and again.
bool OuterState::readParts(base::WireReader& reader, const Parts& tensors, Parts& parts) {
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  for (auto left = reader.integer<std::uint64_t>(); left > 0; --left) {
    const auto index = reader.integer<std::uint64_t>();
    if (!reader.ok() || index >= tensors.size() || tensors[index]->elements > room) {
      return false;
    }
    room -= tensors[index]->elements;
    parts.push_back(tensors[index]);
  }
  return reader.ok();
}

bool OuterState::addFragment(base::WireReader& reader, const Parts& parts) {
  const auto rounds = reader.integer<std::uint64_t>();
  reader.integer<std::uint8_t>(); // drifted: parameters are not part of this state
  const bool has_arrived = reader.integer<std::uint8_t>() == 1;
  const auto vectors = reader.integer<std::uint64_t>();
  if (!reader.ok() || vectors > kMaxVectors) {
    return false;
  }
  for (Sum* sum : parts) {
    if (sum->holders > 0 && sum->outer.size() != vectors) {
      return false;
    }
    ++sum->holders;
    sum->arrivals += has_arrived ? 1 : 0;
    sum->rounds = rounds;
  }
  const auto addAll = [&](auto member) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](Sum* sum) { return addFloats(reader, sum->elements, member(*sum)); });
  };
  bool is_read = addAll([](Sum& sum) -> std::vector<double>& { return sum.reference; });
  for (std::size_t i = 0; is_read && i < vectors; ++i) {
    is_read = addAll([i](Sum& sum) -> std::vector<double>& {
      return i < sum.outer.size() ? sum.outer[i] : sum.outer.emplace_back();
    });
  }
  return is_read && (!has_arrived || addAll([](Sum& sum) -> std::vector<double>& { return sum.arrived; }));
}

bool OuterState::addBucket(base::WireReader& reader, const Parts& parts) {
  const bool has_momentum = reader.integer<std::uint8_t>() == 1;
  for (Sum* sum : parts) {
    sum->learners += has_momentum ? 1 : 0;
    if (has_momentum && !addFloats(reader, sum->elements, sum->momentum)) {
      return false;
    }
  }
  return reader.ok();
}

bool OuterState::addCodecs(std::string_view bytes, const std::vector<Parts>& vectors) {
  if (!ReferenceStore().importAll(bytes).isOk()) {
    return false;
  }
  for (const Parts& parts : vectors) {
    for (Sum* sum : parts) {
      ++sum->senders;
    }
  }
  // Slots have the layout of docs/formats.md, whose form was just checked.
  base::WireReader reader(bytes.substr(kReferencesHeaderBytes));
  for (auto left = reader.integer<std::uint64_t>(); left > 0; --left) {
    ReferenceKey key;
    key.tensor = reader.integer<std::uint64_t>();
    key.role = static_cast<ReferenceRole>(reader.integer<std::uint8_t>());
    key.id = reader.integer<std::uint64_t>();
    FeedbackPiece slot;
    slot.role = key.role;
    slot.first = reader.integer<std::uint64_t>();
    slot.values.resize(reader.integer<std::uint64_t>());
    const auto version = reader.integer<std::uint64_t>();
    slot.is_inherited = version == kInherited;
    loadFloats(reader, slot.values);
    if (key.role == ReferenceRole::draws) {
      draws_ = std::max(draws_, version);
    } else {
      addSlot(key, slot, vectors);
    }
  }
  return true;
}

/// Vectors are numbered from 1, in order.
void OuterState::addSlot(const ReferenceKey& key, const FeedbackPiece& slot, const std::vector<Parts>& vectors) {
  if (!isFeedback(key.role) || key.id != 0 || key.tensor == 0 || key.tensor > vectors.size()) {
    leaves_behind_ = true;
    return;
  }
  has_feedback_ = true;
  std::uint64_t at = 0; // offset of the tensor in the vector
  for (Sum* sum : vectors[key.tensor - 1]) {
    const std::uint64_t from = std::max(slot.first, at);
    const std::uint64_t to = std::min(slot.first + slot.values.size(), at + sum->elements);
    if (from < to) {
      const std::span<const float> values = std::span(slot.values).subspan(from - slot.first, to - from);
      sum->pieces.push_back({key.role, from - at, slot.is_inherited, {values.begin(), values.end()}});
    }
    at += sum->elements;
  }
}

void OuterState::finish() {
  for (auto& [name, sum] : sums_) {
    OuterTensor& tensor = tensors_[name];
    tensor.elements = sum.elements;
    tensor.rounds = sum.rounds;
    tensor.reference = meanOf(sum.reference, sum.holders);
    for (const std::vector<double>& vector : sum.outer) {
      tensor.outer.push_back(meanOf(vector, sum.holders));
    }
    if (sum.arrivals == sum.holders) {
      tensor.arrived = meanOf(sum.arrived, sum.holders);
    }
    tensor.momentum = meanOf(sum.momentum, sum.learners);
    tensor.senders = sum.senders;
    tensor.pieces = std::move(sum.pieces);
  }
  sums_.clear();
}

const OuterTensor* OuterState::find(const std::string& name, std::size_t elements) const {
  const auto found = tensors_.find(name);
  return found != tensors_.end() && found->second.elements == elements ? &found->second : nullptr;
}

} // namespace goss::sync
