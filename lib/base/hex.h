/// Bytes as hexadecimal digits.
#ifndef GOSS_LIB_BASE_HEX_H_
#define GOSS_LIB_BASE_HEX_H_

#include <string>
#include <string_view>

namespace goss::base {

/// `bytes` as two lower-case digits each.
std::string toHex(std::string_view bytes);
/// The bytes that `text` names, in digits of either case; "" where it is not pairs of digits.
std::string fromHex(std::string_view text);

} // namespace goss::base

#endif // GOSS_LIB_BASE_HEX_H_
