/// Errors as exceptions or as results: every class of these headers has a parameter `Errors`, which is Throwing or
/// Returning, so each function is written once.
#ifndef GOSSAMER_CPP_ERROR_HPP_
#define GOSSAMER_CPP_ERROR_HPP_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gossamer/abi.h"

namespace gossamer {

/// The category of error codes that hold a goss_status; `code == GOSS_ERR_TIMEOUT` compares.
inline const std::error_category& category() noexcept {
  class Category final : public std::error_category {
    const char* name() const noexcept override { return "gossamer"; }
    std::string message(int status) const override { return goss_status_string(static_cast<goss_status>(status)); }
  };
  static const Category only;
  return only;
}

/// Why a call failed: what the caller can do about it, and the library's sentence that names who and what.
class Error : public std::runtime_error {
 public:
  Error(goss_status status, const std::string& text, std::int32_t world_rank = -1)
      : std::runtime_error(text), status_(status), world_rank_(world_rank) {}
  /// The failure that the calling thread's last call has just reported with `status`.
  static Error last(goss_status status) {
    const std::string text = goss_last_error();
    std::int32_t world_rank = -1;
    goss_last_error_rank(nullptr, &world_rank);
    return {status, text, world_rank};
  }

  goss_status status() const noexcept { return status_; }
  /// The rank that is to blame, as its number in the communicator that create() made; -1: none.
  std::int32_t worldRank() const noexcept { return world_rank_; }
  std::error_code code() const noexcept { return {status_, category()}; }

 private:
  goss_status status_;
  std::int32_t world_rank_;
};

/// A value, or the Error in its place.
template <class T = void>
class [[nodiscard]] Result {
  using Stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  Result() requires std::is_void_v<T> {}
  Result(Stored value) : outcome_(std::in_place_index<0>, std::move(value)) {} // NOLINT(google-explicit-constructor)
  Result(Error error) : outcome_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool isOk() const noexcept { return outcome_.index() == 0; }
  explicit operator bool() const noexcept { return isOk(); }
  /// Only of a result that is not ok.
  const Error& error() const { return std::get<1>(outcome_); }
  goss_status status() const noexcept { return isOk() ? GOSS_SUCCESS : std::get<1>(outcome_).status(); }
  /// The value; throws the error of a result that is not ok.
  T value() && {
    if (!isOk()) throw std::get<1>(std::move(outcome_));
    if constexpr (!std::is_void_v<T>) return std::get<0>(std::move(outcome_));
  }
  auto& value() & requires(!std::is_void_v<T>) {
    if (!isOk()) throw std::get<1>(outcome_);
    return std::get<0>(outcome_);
  }

 private:
  std::variant<Stored, Error> outcome_;
};

/// Functions return their value and throw Error.
struct Throwing {
  template <class T>
  using Return = T;
  /// The end of a function whose C call returned `status`: returns the value of `make` on success, else throws the
  /// error.
  template <class Make>
  static auto finish(goss_status status, Make&& make) {
    if (status != GOSS_SUCCESS) throw Error::last(status);
    return make();
  }
  static void finish(goss_status status) {
    if (status != GOSS_SUCCESS) throw Error::last(status);
  }
  /// What a function returns that has failed with `error`, if there is one.
  template <class T>
  static T outcome(const std::optional<Error>& error, T value) {
    if (error) throw *error;
    return value;
  }
  static void outcome(const std::optional<Error>& error) {
    if (error) throw *error;
  }
};

/// Functions return Result<T> and throw nothing of their own (memory may run out).
struct Returning {
  template <class T>
  using Return = Result<T>;
  template <class Make>
  static auto finish(goss_status status, Make&& make) -> Result<std::invoke_result_t<Make>> {
    if (status != GOSS_SUCCESS) return Error::last(status);
    if constexpr (std::is_void_v<std::invoke_result_t<Make>>) {
      make();
      return {};
    } else {
      return make();
    }
  }
  static Result<> finish(goss_status status) {
    if (status != GOSS_SUCCESS) return Error::last(status);
    return {};
  }
  template <class T>
  static Result<T> outcome(const std::optional<Error>& error, T value) {
    if (error) return *error;
    return value;
  }
  static Result<> outcome(const std::optional<Error>& error) {
    if (error) return *error;
    return {};
  }
};

namespace detail {

/// Memory that the library has handed out, to be freed by goss_free.
struct Free {
  void operator()(void* memory) const noexcept { goss_free(memory); }
};

/// Takes a text from the library.
inline std::string takeText(char* text) {
  const std::unique_ptr<char, Free> owner(text);
  return text;
}

/// Takes bytes from the library.
inline std::vector<std::byte> takeBytes(void* bytes, std::size_t size) {
  const std::unique_ptr<void, Free> owner(bytes);
  const auto* first = static_cast<const std::byte*>(bytes);
  return {first, first + size};
}

/// Says that `what` has another length than it must have, as the library reports its own errors.
inline goss_status expectCount(const char* function, const char* what, std::size_t has, std::size_t needs) {
  if (has == needs) return GOSS_SUCCESS;
  const std::string text = std::string(function) + ": " + what + " has " + std::to_string(has) + " elements; give it " +
                           std::to_string(needs);
  return goss_set_last_error(GOSS_ERR_INVALID_ARGUMENT, text.c_str());
}

/// Says that so many elements have more bytes than an address counts.
template <class T>
goss_status expectFits(const char* function, std::size_t count) {
  if (count <= std::numeric_limits<std::size_t>::max() / sizeof(T)) return GOSS_SUCCESS;
  const std::string text = std::string(function) + ": " + std::to_string(count) + " elements do not fit in memory";
  return goss_set_last_error(GOSS_ERR_INVALID_ARGUMENT, text.c_str());
}

} // namespace detail
} // namespace gossamer

template <>
struct std::is_error_code_enum<goss_status> : std::true_type {};

inline std::error_code make_error_code(goss_status status) noexcept { // NOLINT(readability-identifier-naming)
  return {static_cast<int>(status), gossamer::category()};
}

#endif // GOSSAMER_CPP_ERROR_HPP_
