#include "engine/completion_signal.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace goss {

Result<std::unique_ptr<CompletionSignal>> CompletionSignal::create() {
  platform::UniqueFd fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd.valid()) {
    return Status::error(GOSS_ERR_RESOURCE,
                         fmt::format("no descriptor for completed operations: {}", std::strerror(errno)));
  }
  return std::unique_ptr<CompletionSignal>(new CompletionSignal(std::move(fd)));
}

void CompletionSignal::add() {
  ++uncollected_;
  const std::uint64_t one = 1;
  (void)!::write(fd_.get(), &one, sizeof one);
}

void CompletionSignal::remove() {
  assert(uncollected_ > 0);
  if (--uncollected_ > 0 || stays_) return;
  std::uint64_t ignored = 0;
  (void)!::read(fd_.get(), &ignored, sizeof ignored);
}

void CompletionSignal::stayRaised() {
  stays_ = true;
  const std::uint64_t one = 1;
  (void)!::write(fd_.get(), &one, sizeof one);
}

} // namespace goss
