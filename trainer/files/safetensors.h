/// Reading and writing of safetensors files with float32 tensors and vectors of bytes.
#ifndef GOSS_TRAINER_FILES_SAFETENSORS_H_
#define GOSS_TRAINER_FILES_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/files/file_io.h"

namespace goss::trainer {

/// Format (huggingface.co/docs/safetensors): u64 little-endian header length N (at most 100,000,000); N bytes of JSON
/// {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, "__metadata__": {"key": "value"}}, padded
/// with spaces to 8; then the tensors, row-major, little-endian, without holes.

struct SafetensorsEntry {
  std::string name;
  std::vector<std::size_t> shape;
  const float* data = nullptr; // float32, host memory
  std::string_view bytes = {}; // a vector of U8, where `data` is null
};

using Metadata = std::map<std::string, std::string>;

/// Creates `path` and flushes it to the disk. Adds "xxh3" to the metadata: a checksum of the data, in hexadecimal.
/// Names must differ. Throws Error with the path and the system's reason.
void writeSafetensors(const std::string& path, std::vector<SafetensorsEntry> tensors, Metadata metadata);

/// A checked file. Every constructor and method throws Error that names the file and what is wrong with it.
class SafetensorsFile {
 public:
  /// Reads and validates the header: lengths, types, that offsets match dtypes and shapes, and that they cover the data
  /// once.
  explicit SafetensorsFile(const std::string& path);

  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] std::vector<std::string> names() const;
  /// Copies the float32 tensor `name`, which must have exactly `shape`, to `out`.
  void read(const std::string& name, const std::vector<std::size_t>& shape, float* out) const;
  /// The tensor `name` of dtype F32, F16 or BF16, which must have exactly `shape`, as float32. Exact.
  [[nodiscard]] std::vector<float> readAsFloats(const std::string& name, const std::vector<std::size_t>& shape) const;
  /// The U8 vector `name`.
  [[nodiscard]] std::string readBytes(const std::string& name) const;
  /// Reads all data and compares it with the metadata's checksum; a file without one passes.
  void verifyChecksum() const;

 private:
  struct Tensor {
    std::string dtype;
    std::vector<std::size_t> shape;
    std::size_t begin = 0; // in the data part
    std::size_t end = 0;
  };
  void parseHeader(const std::string& header);
  void addTensor(const std::string& name, Tensor tensor);
  void checkCoverage() const;
  [[nodiscard]] const Tensor& tensorOf(const std::string& name) const;

  InputFile file_;
  std::size_t data_offset_ = 0;
  std::size_t data_bytes_ = 0;
  std::map<std::string, Tensor> tensors_;
  Metadata metadata_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_SAFETENSORS_H_
