/// Durable files: written, flushed to the disk, and put in place by a rename.
#ifndef GOSS_TRAINER_FILES_FILE_IO_H_
#define GOSS_TRAINER_FILES_FILE_IO_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace goss::trainer {

/// A file open for writing. Errors throw Error with the file's name and the system's reason ("No space left on
/// device").
class OutputFile {
 public:
  /// Creates or empties `path`.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t bytes);
  /// Flushes to the disk and closes. Without commit() the destructor closes the file, and a crash may lose its
  /// contents.
  void commit();

 private:
  std::string path_;
  int fd_;
};

/// A file open for reading at any offset. Errors throw Error.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Reads exactly `bytes` bytes from `offset` on; a shorter file is an error.
  void read(std::size_t offset, void* data, std::size_t bytes) const;

 private:
  std::string path_;
  int fd_;
  std::size_t size_ = 0;
};

/// The whole contents of a file.
std::string readText(const std::string& path);
/// Gives `temporary` the name `path`, whose folder the caller syncs.
void renameTo(const std::string& temporary, const std::string& path);
/// Replaces the contents of `path` by `text` so that a reader, or a crash, sees the old or the new contents, never a
/// part; after the return a crash leaves the new ones.
void replaceFile(const std::string& path, std::string_view text);
/// Makes renames and new files in `directory` survive a crash.
void syncDirectory(const std::string& directory);

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_FILE_IO_H_
