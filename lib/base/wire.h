/// Explicit little-endian encoding for everything that crosses a process boundary. Lengths are checked, never trusted.
#ifndef GOSS_LIB_BASE_WIRE_H_
#define GOSS_LIB_BASE_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace goss::base {

/// Stores an integer's bytes, least significant first, at `to`.
template <typename T>
void storeLittleEndian(void* to, T value) {
  static_assert(std::is_integral_v<T>);
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  auto* bytes = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(bits) >> (8 * i));
}

template <typename T>
T loadLittleEndian(const void* from) {
  static_assert(std::is_integral_v<T>);
  std::uint64_t bits = 0;
  const auto* bytes = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bits |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(bits));
}

/// Appends fields to a string of bytes.
class WireWriter {
 public:
  template <typename T>
  WireWriter& integer(T value) {
    char bytes[sizeof(T)];
    storeLittleEndian(bytes, value);
    bytes_.append(bytes, sizeof(T));
    return *this;
  }
  /// Appends these bytes without a length.
  WireWriter& raw(std::string_view bytes) {
    bytes_.append(bytes);
    return *this;
  }
  /// Appends a 32-bit length, then the bytes.
  WireWriter& text(std::string_view bytes) { return integer(static_cast<std::uint32_t>(bytes.size())).raw(bytes); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Takes fields off a string of bytes. After the first field that does not fit every call fails and yields zero.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T integer() {
    const std::string_view bytes = raw(sizeof(T));
    return bytes.size() == sizeof(T) ? loadLittleEndian<T>(bytes.data()) : T{};
  }
  std::string_view raw(std::size_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  /// Takes a text of at most `limit` bytes.
  std::string_view text(std::size_t limit) {
    const auto size = integer<std::uint32_t>();
    if (size > limit) ok_ = false;
    return raw(size);
  }
  [[nodiscard]] bool ok() const { return ok_; }
  /// Whether all bytes were taken and all fields fitted.
  [[nodiscard]] bool complete() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

} // namespace goss::base

#endif // GOSS_LIB_BASE_WIRE_H_
