#include "transports/shm/board_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "transports/common/errors.h"

namespace goss::transports::shm {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

} // namespace

Result<BoardMemory> BoardMemory::create() {
  BoardMemory board;
  board.fd_.reset(::memfd_create("gossamer-board", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!board.fd_.valid() || ::ftruncate(board.fd_.get(), static_cast<off_t>(kBytes)) != 0 ||
      ::fcntl(board.fd_.get(), F_ADD_SEALS, kSeals) != 0) {
    return systemError(-1, "cannot make shared memory for a board", errno);
  }
  if (Status status = board.map(PROT_READ | PROT_WRITE); !status.isOk()) return status;
  return board;
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
  if (Status status = board.map(PROT_READ); !status.isOk()) return status;
  board.fd_.reset();
  return board;
}

Status BoardMemory::map(int protection) {
  void* all = ::mmap(nullptr, kBytes, protection, MAP_SHARED, fd_.get(), 0);
  if (all == MAP_FAILED) return systemError(-1, "cannot map a board", errno);
  base_ = static_cast<std::byte*>(all);
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
