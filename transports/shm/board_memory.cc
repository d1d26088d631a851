#include "transports/shm/board_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "transports/common/errors.h"

namespace goss::transports::shm {

namespace {

/// In the head of a board: the name of its owner, and a zero.
constexpr std::size_t kNameOffset = 64;
constexpr std::size_t kMaxNameBytes = 128;
constexpr std::string_view kFileName = "gossamer-board";
constexpr std::string_view kFileLink = "/memfd:gossamer-board";
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

} // namespace

Result<BoardMemory> BoardMemory::create(const std::string& name) {
  BoardMemory board;
  board.fd_.reset(::memfd_create(kFileName.data(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!board.fd_.valid() || ::ftruncate(board.fd_.get(), static_cast<off_t>(kBytes)) != 0 ||
      ::fcntl(board.fd_.get(), F_ADD_SEALS, kSeals) != 0) {
    return systemError(-1, "cannot make shared memory for a board", errno);
  }
  if (Status status = board.map(true); !status.isOk()) return status;
  std::memcpy(board.base_ + kNameOffset, name.data(), std::min(name.size(), kMaxNameBytes - 1));
  return board;
}

platform::UniqueFd BoardMemory::find(std::int64_t process, int fd, const std::string& name) {
  const std::string path = fmt::format("/proc/{}/fd/{}", process, fd);
  // Opening whatever a foreign process has there might do something.
  std::array<char, 64> link{};
  const ssize_t bytes = ::readlink(path.c_str(), link.data(), link.size());
  if (bytes < 0 || !std::string_view(link.data(), static_cast<std::size_t>(bytes)).starts_with(kFileLink)) return {};
  platform::UniqueFd found(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, kMaxNameBytes> owner{};
  const bool is_right =
      found.valid() &&
      ::pread(found.get(), owner.data(), owner.size() - 1, kNameOffset) == static_cast<ssize_t>(owner.size() - 1) &&
      name == owner.data();
  return is_right ? std::move(found) : platform::UniqueFd();
}

Result<BoardMemory> BoardMemory::attach(platform::UniqueFd fd, int peer) {
  BoardMemory board;
  board.fd_ = std::move(fd);
  struct stat file {};
  const int seals = ::fcntl(board.fd_.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(board.fd_.get(), &file) != 0 ||
      static_cast<std::uint64_t>(file.st_size) != kBytes) {
    return protocolError(peer, "a descriptor that is not a board");
  }
  if (Status status = board.map(false); !status.isOk()) return status;
  board.fd_.reset();
  return board;
}

Status BoardMemory::map(bool own) {
  void* all = ::mmap(nullptr, kBytes, own ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd_.get(), 0);
  if (all == MAP_FAILED) return systemError(-1, "cannot map a board", errno);
  base_ = static_cast<std::byte*>(all);
  if (!own && ::mprotect(base_, kHeadBytes, PROT_READ | PROT_WRITE) != 0)
    return systemError(-1, "cannot map the head of a board", errno);
  return Status::ok();
}

BoardMemory::~BoardMemory() {
  if (base_ != nullptr) ::munmap(base_, kBytes);
}

BoardMemory::BoardMemory(BoardMemory&& other) noexcept
    : fd_(std::move(other.fd_)), base_(std::exchange(other.base_, nullptr)) {}

BoardMemory& BoardMemory::operator=(BoardMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  return *this;
}

} // namespace goss::transports::shm
