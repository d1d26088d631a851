/// The vectors that both ends of a boundary keep of every sample.
#ifndef GOSS_LIB_PIPELINE_SAMPLE_CACHE_H_
#define GOSS_LIB_PIPELINE_SAMPLE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossamer/status.h"

namespace goss::pipeline {

/// Vectors of one length by (stage, sample), in memory or in one file that no other process may use. One thread.
class SampleCache {
 public:
  using Key = std::pair<int, std::uint64_t>;

  /// `directory` empty: in memory. Else a file is made there and unlinked at once, because its contents do not outlive
  /// the run. Errors: GOSS_ERR_RESOURCE naming the file.
  static Result<SampleCache> create(const std::string& directory, std::size_t elems);

  [[nodiscard]] bool has(const Key& key) const { return places_.contains(key); }
  /// values[elems] = the vector stored last; only after has(). Errors: GOSS_ERR_RESOURCE.
  Status load(const Key& key, std::span<float> values);
  /// Stores the vector of `key`. Errors: GOSS_ERR_RESOURCE (for example a full disk).
  Status store(const Key& key, std::span<const float> values);

  /// All vectors as bytes (docs/formats.md); the same vectors give the same bytes. Errors: as load().
  Result<std::string> exportAll();
  /// Replaces all vectors. Errors: GOSS_ERR_PROTOCOL for bytes that exportAll() did not write,
  /// GOSS_ERR_INVALID_ARGUMENT for vectors of another length, after which nothing has changed; as store().
  Status importAll(std::string_view bytes);

 private:
  SampleCache(std::size_t elems, std::unique_ptr<std::fstream> file, std::string path)
      : elems_(elems), file_(std::move(file)), path_(std::move(path)) {}
  [[nodiscard]] std::streamoff offsetOf(std::size_t place) const {
    return static_cast<std::streamoff>(place * elems_ * sizeof(float));
  }

  std::size_t elems_;
  std::unique_ptr<std::fstream> file_; // null: in memory
  std::string path_;
  std::map<Key, std::size_t> places_;
  std::vector<std::vector<float>> memory_; // [place]
};

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_SAMPLE_CACHE_H_
