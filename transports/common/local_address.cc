#include "transports/common/local_address.h"

#include "base/wire.h"
#include "platform/process.h"

namespace goss::transports {

Result<std::string> encodeLocalAddress(std::string_view magic, std::uint64_t number) {
  const Result<std::string> token = platform::processToken();
  if (!token.isOk()) return token.status();
  base::WireWriter writer;
  writer.raw(magic).raw(token.value()).integer(number);
  return writer.take();
}

std::optional<std::uint64_t> decodeLocalAddress(std::string_view magic, std::string_view address) {
  const Result<std::string> token = platform::processToken();
  if (!token.isOk()) return std::nullopt;
  base::WireReader reader(address);
  const bool is_own = reader.raw(magic.size()) == magic && reader.raw(token.value().size()) == token.value();
  const auto number = reader.integer<std::uint64_t>();
  return is_own && reader.complete() ? std::optional(number) : std::nullopt;
}

} // namespace goss::transports
