#include "trainer/files/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "trainer/base/error.h"

namespace goss::trainer {

namespace {

constexpr mode_t kMode = 0644;

[[noreturn]] void failWith(const char* verb, const std::string& path) {
  const std::string reason = std::generic_category().message(errno);
  fail("cannot {} {}: {}", verb, path, reason);
}

} // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), fd_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode)) {
  if (fd_ < 0) failWith("create", path_);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
}

void OutputFile::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_, next, bytes);
    if (n < 0) {
      if (errno == EINTR) continue;
      failWith("write", path_);
    }
    next += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void OutputFile::commit() {
  if (fsync(fd_) != 0) failWith("flush", path_);
  if (close(std::exchange(fd_, -1)) != 0) failWith("close", path_);
}

InputFile::InputFile(std::string path) : path_(std::move(path)), fd_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) failWith("open", path_);
  struct stat info {};
  if (fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd_);
    fail("{} is not a regular file", path_);
  }
  size_ = static_cast<std::size_t>(info.st_size);
}

InputFile::~InputFile() { close(fd_); }

void InputFile::read(std::size_t offset, void* data, std::size_t bytes) const {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = pread(fd_, next, bytes, static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      failWith("read", path_);
    }
    if (n == 0) fail("{} ended early, at byte {}", path_, offset);
    next += n;
    offset += static_cast<std::size_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

std::string readText(const std::string& path) {
  const InputFile file(path);
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

void renameTo(const std::string& temporary, const std::string& path) {
  if (std::rename(temporary.c_str(), path.c_str()) != 0) failWith("replace", path);
}

void replaceFile(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp";
  OutputFile file(temporary);
  file.write(text.data(), text.size());
  file.commit();
  renameTo(temporary, path);
  const std::size_t slash = path.find_last_of('/');
  syncDirectory(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

void syncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) failWith("open", directory);
  const int result = fsync(fd);
  close(fd);
  if (result != 0) failWith("flush", directory);
}

} // namespace goss::trainer
