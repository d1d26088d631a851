#include "trainer/data/data_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "trainer/base/error.h"

namespace goss::trainer {

namespace {

/// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void failBySystem(const char* verb, const std::string& path) {
  fail("cannot {} the data file {}: {}", verb, path, std::generic_category().message(errno));
}

} // namespace

DataFile::DataFile(std::string path) : path_(std::move(path)) { open(); }

DataFile::~DataFile() {
  if (map_ != nullptr) ::munmap(map_, size_);
}

void DataFile::open() {
  const int opened = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) failBySystem("open", path_);
  const Descriptor file(opened);
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) failBySystem("read", path_);
  if (!S_ISREG(status.st_mode)) return readAll(file.number());
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return readAll(file.number()); // files of /proc have no size, but contents
  map_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (map_ != MAP_FAILED) return;
  map_ = nullptr;
  failBySystem("map", path_);
}

void DataFile::readAll(int descriptor) {
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count == 0) return;
    if (count > 0) {
      text_.append(block.data(), static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      failBySystem("read", path_);
    }
  }
}

} // namespace goss::trainer
