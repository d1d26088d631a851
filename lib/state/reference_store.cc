#include "state/reference_store.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>

#include "base/wire.h"

namespace goss {

namespace {

constexpr std::string_view kMagic = "GREF";
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kSlotHeaderBytes = 8 + 1 + 8 + 8 + 8 + 8;

/// The first slot that may overlap a range that begins at `first`.
template <typename Slots>
auto firstTouching(Slots& slots, std::uint64_t first) {
  auto slot = slots.upper_bound(first);
  if (slot != slots.begin() && std::prev(slot)->first + std::prev(slot)->second.values.size() > first) {
    --slot;
  }
  return slot;
}

Status malformed(const std::string& why) {
  return Status::error(GOSS_ERR_PROTOCOL,
                       fmt::format("these bytes are no exported references: {}; was the checkpoint damaged?", why));
}

} // namespace

/// Moves the part of `range` that `slots` hold to `into`, which begins at range.first, and removes it from them.
void ReferenceStore::carve(Slots& slots, ElementRange range, std::span<float> into) {
  for (auto slot = firstTouching(slots, range.first); slot != slots.end() && slot->first < range.end();) {
    const std::uint64_t first = slot->first, end = first + slot->second.values.size();
    const std::uint64_t from = std::max(first, range.first), to = std::min(end, range.end());
    Slot old = std::move(slot->second);
    slot = slots.erase(slot);
    const auto at = [&](std::uint64_t element) {
      return old.values.begin() + static_cast<std::ptrdiff_t>(element - first);
    };
    std::copy(at(from), at(to), into.begin() + static_cast<std::ptrdiff_t>(from - range.first));
    if (from > first) {
      slots.emplace(first, Slot{old.version, {at(first), at(from)}});
    }
    if (end > to) {
      slot = slots.emplace(to, Slot{old.version, {at(to), at(end)}}).first;
    }
  }
}

Result<std::span<float>> ReferenceStore::open(const ReferenceKey& key, ElementRange range) {
  if (range.end() < range.first) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("{} elements from {} on end beyond every tensor", range.count, range.first));
  }
  if (range.count == 0) {
    return std::span<float>();
  }
  Slots& slots = keys_[key];
  const auto found = slots.find(range.first);
  if (found != slots.end() && found->second.values.size() == range.count) {
    return std::span<float>(found->second.values);
  }
  std::vector<float> values;
  try {
    values.resize(range.count);
  } catch (const std::exception&) {
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("no memory for {} elements of references", range.count));
  }
  carve(slots, range, values);
  return std::span<float>(slots.emplace(range.first, Slot{0, std::move(values)}).first->second.values);
}

bool ReferenceStore::holds(const ReferenceKey& key, ElementRange range) const {
  const auto slots = keys_.find(key);
  if (slots == keys_.end() || range.count == 0) return false;
  const auto slot = firstTouching(slots->second, range.first);
  return slot != slots->second.end() && slot->first < range.end();
}

void ReferenceStore::take(const ReferenceKey& key, std::uint64_t first, std::span<float> into) {
  std::fill(into.begin(), into.end(), 0.0f);
  const auto slots = keys_.find(key);
  if (slots == keys_.end()) return;
  carve(slots->second, {first, into.size()}, into);
  if (slots->second.empty()) keys_.erase(slots);
}

void ReferenceStore::read(const ReferenceKey& key, std::uint64_t first, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0f);
  const auto slots = keys_.find(key);
  if (slots == keys_.end()) {
    return;
  }
  const std::uint64_t end = first + out.size();
  for (auto slot = firstTouching(slots->second, first); slot != slots->second.end() && slot->first < end; ++slot) {
    const std::vector<float>& values = slot->second.values;
    const std::uint64_t from = std::max(slot->first, first), to = std::min(slot->first + values.size(), end);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from - slot->first), to - from,
                out.begin() + static_cast<std::ptrdiff_t>(from - first));
  }
}

std::optional<std::uint64_t> ReferenceStore::version(const ReferenceKey& key, ElementRange range) const {
  const auto slots = keys_.find(key);
  if (slots == keys_.end()) {
    return std::nullopt;
  }
  const auto slot = slots->second.find(range.first);
  const bool exact = slot != slots->second.end() && slot->second.values.size() == range.count;
  return exact ? std::optional(slot->second.version) : std::nullopt;
}

bool ReferenceStore::setVersion(const ReferenceKey& key, ElementRange range, std::uint64_t version) {
  if (!this->version(key, range)) {
    return false;
  }
  keys_[key][range.first].version = version;
  return true;
}

std::uint64_t ReferenceStore::countUp(std::uint64_t tensor) {
  return keys_[{tensor, ReferenceRole::draws, 0}].try_emplace(0, Slot{0, {0.0f}}).first->second.version++;
}

void ReferenceStore::reset(const Filter& filter) {
  std::erase_if(keys_, [&](const auto& entry) {
    const ReferenceKey& key = entry.first;
    return filter.tensor.value_or(key.tensor) == key.tensor && filter.role.value_or(key.role) == key.role &&
           filter.id.value_or(key.id) == key.id;
  });
}

std::size_t ReferenceStore::slots() const {
  std::size_t count = 0;
  for (const auto& [key, slots] : keys_) {
    count += slots.size();
  }
  return count;
}

std::uint64_t ReferenceStore::elements() const {
  std::uint64_t count = 0;
  for (const auto& [key, slots] : keys_) {
    for (const auto& [first, slot] : slots) {
      count += slot.values.size();
    }
  }
  return count;
}

std::string ReferenceStore::exportAll() const {
  base::WireWriter writer;
  writer.raw(kMagic).integer(kVersion).integer(std::uint16_t{0}).integer(static_cast<std::uint64_t>(slots()));
  for (const auto& [key, slots] : keys_) {
    for (const auto& [first, slot] : slots) {
      writer.integer(key.tensor).integer(static_cast<std::uint8_t>(key.role)).integer(key.id);
      writer.integer(first).integer(static_cast<std::uint64_t>(slot.values.size())).integer(slot.version);
      for (const float value : slot.values) {
        writer.integer(std::bit_cast<std::uint32_t>(value));
      }
    }
  }
  std::string bytes = writer.take();
  return bytes + base::WireWriter().integer(static_cast<std::uint64_t>(XXH3_64bits(bytes.data(), bytes.size()))).take();
}

Result<std::map<ReferenceKey, ReferenceStore::Slots>> ReferenceStore::parse(std::string_view bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) {
    return malformed("too short");
  }
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  if (base::loadLittleEndian<std::uint64_t>(bytes.data() + body.size()) != XXH3_64bits(body.data(), body.size())) {
    return malformed("the checksum differs");
  }
  base::WireReader reader(body);
  if (reader.raw(kMagic.size()) != kMagic || reader.integer<std::uint16_t>() != kVersion ||
      reader.integer<std::uint16_t>() != 0) {
    return malformed("another magic number or version");
  }
  std::map<ReferenceKey, Slots> keys;
  std::size_t left = body.size();
  for (auto slots = reader.integer<std::uint64_t>(); slots > 0 && reader.ok(); --slots) {
    ReferenceKey key;
    key.tensor = reader.integer<std::uint64_t>();
    const auto role = reader.integer<std::uint8_t>();
    key.role = static_cast<ReferenceRole>(role);
    key.id = reader.integer<std::uint64_t>();
    ElementRange range;
    range.first = reader.integer<std::uint64_t>();
    range.count = reader.integer<std::uint64_t>();
    Slot slot{reader.integer<std::uint64_t>(), {}};
    left -= std::min(left, kSlotHeaderBytes);
    if (!reader.ok() || role >= kReferenceRoles || range.count == 0 || range.count > left / sizeof(float) ||
        range.end() < range.first) {
      return malformed("a slot's key or range is wrong");
    }
    left -= range.count * sizeof(float);
    for (std::uint64_t i = 0; i < range.count; ++i) {
      slot.values.push_back(std::bit_cast<float>(reader.integer<std::uint32_t>()));
    }
    Slots& into = keys[key];
    if (!into.empty() && into.rbegin()->first + into.rbegin()->second.values.size() > range.first) {
      return malformed("slots overlap or are out of order");
    }
    into.emplace(range.first, std::move(slot));
  }
  if (!reader.complete()) {
    return malformed("it has another length than it says");
  }
  return keys;
}

Status ReferenceStore::importAll(std::string_view bytes) {
  Result<std::map<ReferenceKey, Slots>> parsed = parse(bytes);
  if (!parsed.isOk()) {
    return parsed.status();
  }
  keys_ = parsed.take();
  return Status::ok();
}

} // namespace goss
