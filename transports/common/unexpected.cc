#include "transports/common/unexpected.h"

#include <new>

namespace goss::transports {

namespace {

constexpr std::align_val_t kAlignment{64};

} // namespace

void Unexpected::Free::operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }

Unexpected::Payload Unexpected::allocate(std::uint64_t bytes) {
  if (bytes == 0) return nullptr;
  return Payload(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow)));
}

} // namespace goss::transports
