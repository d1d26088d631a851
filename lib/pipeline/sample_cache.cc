#include "pipeline/sample_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>

namespace goss::pipeline {

namespace {

/// Right after what failed: streams without a buffer leave the system's reason in errno.
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
  file->rdbuf()->pubsetbuf(nullptr, 0); // before it is opened: what does not fit on the disk is named at once
  errno = 0;
  file->open(path, std::ios::in | std::ios::out | std::ios::binary | std::ios::trunc);
  if (!*file) return broken(path, "made");
  std::filesystem::remove(path, error); // the open file stays
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

} // namespace goss::pipeline
