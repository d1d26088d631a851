#include "pipeline/sample_cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>

#include "base/wire.h"

namespace goss::pipeline {

namespace {

constexpr std::string_view kMagic = "GACT";
constexpr std::uint16_t kVersion = 1;

Status malformed(const char* why) {
  return Status::error(GOSS_ERR_PROTOCOL,
                       fmt::format("these bytes are no exported activations: {}; was the checkpoint damaged?", why));
}

/// Called right after the failed call: unbuffered streams leave the system's reason in errno.
Status broken(const std::string& path, const char* what) {
  const std::string reason = errno != 0 ? std::generic_category().message(errno) : "the file ended early";
  return Status::error(GOSS_ERR_RESOURCE,
                       fmt::format("the activation cache {} cannot be {}: {}; free some room, or name "
                                   "another directory",
                                   path, what, reason));
}

} // namespace

Result<SampleCache> SampleCache::create(const std::string& directory, std::size_t elems) {
  if (directory.empty()) return SampleCache(elems, nullptr, "");
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::string path = fmt::format("{}/activations-{:08x}", directory, std::random_device{}());
  auto file = std::make_unique<std::fstream>();
  // called before the file is opened; unbuffered, so that a full disk is reported at once
  file->rdbuf()->pubsetbuf(nullptr, 0);
  errno = 0;
  file->open(path, std::ios::in | std::ios::out | std::ios::binary | std::ios::trunc);
  if (!*file) return broken(path, "made");
  std::filesystem::remove(path, error); // the open file stays usable
  return SampleCache(elems, std::move(file), path);
}

Status SampleCache::load(const Key& key, std::span<float> values) {
  const std::size_t place = places_.at(key);
  if (!file_) {
    std::copy(memory_[place].begin(), memory_[place].end(), values.begin());
    return Status::ok();
  }
  errno = 0;
  file_->seekg(offsetOf(place));
  file_->read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  return *file_ ? Status::ok() : broken(path_, "read");
}

Status SampleCache::store(const Key& key, std::span<const float> values) {
  const auto [found, is_new] = places_.try_emplace(key, places_.size());
  if (!file_) {
    if (is_new) memory_.emplace_back();
    memory_[found->second].assign(values.begin(), values.end());
    return Status::ok();
  }
  errno = 0;
  file_->seekp(offsetOf(found->second));
  file_->write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  return *file_ ? Status::ok() : broken(path_, "written");
}

Result<std::string> SampleCache::exportAll() {
  base::WireWriter writer;
  writer.raw(kMagic).integer(kVersion).integer(std::uint16_t{0});
  writer.integer(static_cast<std::uint64_t>(elems_)).integer(static_cast<std::uint64_t>(places_.size()));
  std::vector<float> values(elems_);
  for (const auto& [key, place] : places_) {
    if (Status status = load(key, values); !status.isOk()) return status;
    writer.integer(static_cast<std::int32_t>(key.first)).integer(key.second);
    for (const float value : values)
      writer.integer(std::bit_cast<std::uint32_t>(value));
  }
  std::string bytes = writer.take();
  return bytes + base::WireWriter().integer(static_cast<std::uint64_t>(XXH3_64bits(bytes.data(), bytes.size()))).take();
}

Status SampleCache::importAll(std::string_view bytes) {
  constexpr std::size_t kHeaderBytes = 24, kKeyBytes = 12;
  if (bytes.size() < kHeaderBytes + sizeof(std::uint64_t)) return malformed("too short");
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  if (base::loadLittleEndian<std::uint64_t>(bytes.data() + body.size()) != XXH3_64bits(body.data(), body.size()))
    return malformed("the checksum differs");
  base::WireReader reader(body);
  if (reader.raw(kMagic.size()) != kMagic || reader.integer<std::uint16_t>() != kVersion ||
      reader.integer<std::uint16_t>() != 0)
    return malformed("another magic number or version");
  const auto elems = reader.integer<std::uint64_t>();
  const auto samples = reader.integer<std::uint64_t>();
  if (elems != elems_) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("the exported samples have {} elements, not {}", elems, elems_));
  }
  const std::size_t unit = kKeyBytes + elems_ * sizeof(float), rest = body.size() - kHeaderBytes;
  if (rest % unit != 0 || rest / unit != samples) return malformed("it has another length than it says");
  places_.clear();
  memory_.clear();
  std::vector<float> values(elems_);
  for (std::uint64_t i = 0; i < samples; ++i) {
    const auto stage = reader.integer<std::int32_t>();
    const Key key(stage, reader.integer<std::uint64_t>());
    for (float& value : values)
      value = std::bit_cast<float>(reader.integer<std::uint32_t>());
    if (Status status = store(key, values); !status.isOk()) return status;
  }
  return Status::ok();
}

} // namespace goss::pipeline
