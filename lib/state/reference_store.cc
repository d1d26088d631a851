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

/// The first interval that may overlap a range that begins at `first`.
template <typename Intervals>
auto firstTouching(Intervals& intervals, std::uint64_t first) {
  auto interval = intervals.upper_bound(first);
  if (interval != intervals.begin() && std::prev(interval)->first + std::prev(interval)->second.values.size() > first) {
    --interval;
  }
  return interval;
}

Status malformed(const std::string& why) {
  return Status::error(GOSS_ERR_PROTOCOL,
                       fmt::format("these bytes are no exported references: {}; was the checkpoint damaged?", why));
}

} // namespace

/// Moves the part of `range` that `intervals` hold to `into`, which begins at range.first, and removes it from them.
void ReferenceStore::carve(Intervals& intervals, ElementRange range, std::span<float> into) {
  for (auto interval = firstTouching(intervals, range.first);
       interval != intervals.end() && interval->first < range.end();) {
    const std::uint64_t first = interval->first, end = first + interval->second.values.size();
    const std::uint64_t from = std::max(first, range.first), to = std::min(end, range.end());
    Interval old = std::move(interval->second);
    interval = intervals.erase(interval);
    const auto at = [&](std::uint64_t element) {
      return old.values.begin() + static_cast<std::ptrdiff_t>(element - first);
    };
    std::copy(at(from), at(to), into.begin() + static_cast<std::ptrdiff_t>(from - range.first));
    if (from > first) {
      intervals.emplace(first, Interval{old.version, {at(first), at(from)}});
    }
    if (end > to) {
      interval = intervals.emplace(to, Interval{old.version, {at(to), at(end)}}).first;
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
  Intervals& intervals = keys_[key];
  const auto found = intervals.find(range.first);
  if (found != intervals.end() && found->second.values.size() == range.count) {
    return std::span<float>(found->second.values);
  }
  std::vector<float> values;
  try {
    values.resize(range.count);
  } catch (const std::exception&) {
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("no memory for {} elements of references", range.count));
  }
  carve(intervals, range, values);
  return std::span<float>(intervals.emplace(range.first, Interval{0, std::move(values)}).first->second.values);
}

bool ReferenceStore::holds(const ReferenceKey& key, ElementRange range) const {
  const auto intervals = keys_.find(key);
  if (intervals == keys_.end() || range.count == 0) return false;
  const auto interval = firstTouching(intervals->second, range.first);
  return interval != intervals->second.end() && interval->first < range.end();
}

void ReferenceStore::take(const ReferenceKey& key, std::uint64_t first, std::span<float> into) {
  std::fill(into.begin(), into.end(), 0.0f);
  const auto intervals = keys_.find(key);
  if (intervals == keys_.end()) return;
  carve(intervals->second, {first, into.size()}, into);
  if (intervals->second.empty()) keys_.erase(intervals);
}

void ReferenceStore::move(ReferenceRole role, std::uint64_t version, ReferenceStore& to) {
  for (auto& [key, intervals] : keys_) {
    if (key.role != role) continue;
    for (auto next = intervals.begin(); next != intervals.end();) {
      const auto interval = next++;
      if (interval->second.version == version) to.keys_[key].insert(intervals.extract(interval));
    }
  }
  std::erase_if(keys_, [](const auto& entry) { return entry.second.empty(); });
}

void ReferenceStore::read(const ReferenceKey& key, std::uint64_t first, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0f);
  const auto intervals = keys_.find(key);
  if (intervals == keys_.end()) {
    return;
  }
  const std::uint64_t end = first + out.size();
  for (auto interval = firstTouching(intervals->second, first);
       interval != intervals->second.end() && interval->first < end; ++interval) {
    const std::vector<float>& values = interval->second.values;
    const std::uint64_t from = std::max(interval->first, first), to = std::min(interval->first + values.size(), end);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from - interval->first), to - from,
                out.begin() + static_cast<std::ptrdiff_t>(from - first));
  }
}

std::optional<std::uint64_t> ReferenceStore::version(const ReferenceKey& key, ElementRange range) const {
  const auto intervals = keys_.find(key);
  if (intervals == keys_.end()) {
    return std::nullopt;
  }
  const auto interval = intervals->second.find(range.first);
  const bool exact = interval != intervals->second.end() && interval->second.values.size() == range.count;
  return exact ? std::optional(interval->second.version) : std::nullopt;
}

bool ReferenceStore::setVersion(const ReferenceKey& key, ElementRange range, std::uint64_t version) {
  if (!this->version(key, range)) {
    return false;
  }
  keys_[key][range.first].version = version;
  return true;
}

std::uint64_t ReferenceStore::countUp(std::uint64_t tensor) {
  return keys_[{tensor, ReferenceRole::draws, 0}].try_emplace(0, Interval{0, {0.0f}}).first->second.version++;
}

void ReferenceStore::reset(const Filter& filter) {
  std::erase_if(keys_, [&](const auto& entry) {
    const ReferenceKey& key = entry.first;
    return filter.tensor.value_or(key.tensor) == key.tensor && filter.role.value_or(key.role) == key.role &&
           filter.id.value_or(key.id) == key.id;
  });
}

std::size_t ReferenceStore::intervals() const {
  std::size_t count = 0;
  for (const auto& [key, intervals] : keys_) {
    count += intervals.size();
  }
  return count;
}

std::uint64_t ReferenceStore::elements() const {
  std::uint64_t count = 0;
  for (const auto& [key, intervals] : keys_) {
    for (const auto& [first, interval] : intervals) {
      count += interval.values.size();
    }
  }
  return count;
}

std::string ReferenceStore::exportAll() const {
  base::WireWriter writer;
  writer.raw(kMagic).integer(kVersion).integer(std::uint16_t{0}).integer(static_cast<std::uint64_t>(intervals()));
  for (const auto& [key, intervals] : keys_) {
    for (const auto& [first, interval] : intervals) {
      writer.integer(key.tensor).integer(static_cast<std::uint8_t>(key.role)).integer(key.id);
      writer.integer(first).integer(static_cast<std::uint64_t>(interval.values.size())).integer(interval.version);
      for (const float value : interval.values) {
        writer.integer(std::bit_cast<std::uint32_t>(value));
      }
    }
  }
  std::string bytes = writer.take();
  return bytes + base::WireWriter().integer(static_cast<std::uint64_t>(XXH3_64bits(bytes.data(), bytes.size()))).take();
}

Result<std::map<ReferenceKey, ReferenceStore::Intervals>> ReferenceStore::parse(std::string_view bytes) {
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
  std::map<ReferenceKey, Intervals> keys;
  std::size_t left = body.size();
  for (auto intervals = reader.integer<std::uint64_t>(); intervals > 0 && reader.ok(); --intervals) {
    ReferenceKey key;
    key.tensor = reader.integer<std::uint64_t>();
    const auto role = reader.integer<std::uint8_t>();
    key.role = static_cast<ReferenceRole>(role);
    key.id = reader.integer<std::uint64_t>();
    ElementRange range;
    range.first = reader.integer<std::uint64_t>();
    range.count = reader.integer<std::uint64_t>();
    Interval interval{reader.integer<std::uint64_t>(), {}};
    left -= std::min(left, kSlotHeaderBytes);
    if (!reader.ok() || role >= kReferenceRoles || range.count == 0 || range.count > left / sizeof(float) ||
        range.end() < range.first) {
      return malformed("an interval's key or range is wrong");
    }
    left -= range.count * sizeof(float);
    for (std::uint64_t i = 0; i < range.count; ++i) {
      interval.values.push_back(std::bit_cast<float>(reader.integer<std::uint32_t>()));
    }
    Intervals& into = keys[key];
    if (!into.empty() && into.rbegin()->first + into.rbegin()->second.values.size() > range.first) {
      return malformed("intervals overlap or are out of order");
    }
    into.emplace(range.first, std::move(interval));
  }
  if (!reader.complete()) {
    return malformed("it has another length than it says");
  }
  return keys;
}

Status ReferenceStore::importAll(std::string_view bytes) {
  Result<std::map<ReferenceKey, Intervals>> parsed = parse(bytes);
  if (!parsed.isOk()) {
    return parsed.status();
  }
  keys_ = parsed.take();
  return Status::ok();
}

} // namespace goss
