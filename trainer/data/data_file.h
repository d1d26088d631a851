/// Files of training data, mapped into memory: pages are read when they are needed, and ranks of a host share them.
#ifndef GOSS_TRAINER_DATA_DATA_FILE_H_
#define GOSS_TRAINER_DATA_DATA_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace goss::trainer {

/// Throws Error with the file's name and the system's reason. The file must not be truncated while it is mapped: access
/// to the missing pages raises SIGBUS, which ends the process.
class DataFile {
 public:
  /// Maps a regular file; reads anything else, such as a pipe, to its end.
  explicit DataFile(std::string path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Valid as long as the file.
  [[nodiscard]] std::string_view bytes() const {
    return map_ == nullptr ? std::string_view(text_) : std::string_view(static_cast<const char*>(map_), size_);
  }

 private:
  void open();
  void readAll(int descriptor);

  std::string path_;
  void* map_ = nullptr; // null: text_ holds the bytes
  std::size_t size_ = 0;
  std::string text_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_DATA_FILE_H_
