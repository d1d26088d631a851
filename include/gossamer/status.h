/// The result of a fallible call inside the library: success, or what went wrong and what it damaged.
#ifndef GOSSAMER_STATUS_H_
#define GOSSAMER_STATUS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gossamer/gossamer.h"

namespace goss {

/// What the caller can do about it; the C ABI's numbers, so that nothing is translated on the way out.
using ErrorKind = goss_status;

/// The largest thing that is permanently damaged.
enum class ErrorScope { operation, peer, communicator };

/// Success costs one null pointer. Immutable, cheap to copy, safe to share between threads.
class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status ok() { return {}; }
  /// `peer` is the world rank that is to blame, or -1.
  static Status error(ErrorKind kind, std::string text, ErrorScope scope = ErrorScope::operation, int peer = -1) {
    Status status;
    status.rep_ = std::make_shared<const Rep>(Rep{kind, scope, peer, std::move(text)});
    return status;
  }

  [[nodiscard]] bool isOk() const { return rep_ == nullptr; }
  [[nodiscard]] ErrorKind kind() const { return rep_ ? rep_->kind : GOSS_SUCCESS; }
  [[nodiscard]] ErrorScope scope() const { return rep_ ? rep_->scope : ErrorScope::operation; }
  [[nodiscard]] int peer() const { return rep_ ? rep_->peer : -1; }
  /// One sentence that names who and what, and what to do next; empty on success.
  [[nodiscard]] std::string text() const { return rep_ ? rep_->text : std::string(); }
  /// The same text as text(), which lives as long as any copy of this status.
  [[nodiscard]] const char* cText() const { return rep_ ? rep_->text.c_str() : ""; }

 private:
  struct Rep {
    ErrorKind kind;
    ErrorScope scope;
    int peer;
    std::string text;
  };
  std::shared_ptr<const Rep> rep_;
};

/// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor): reads as a return
  Result(Status status) : status_(std::move(status)) {} // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool isOk() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T take() { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Status status_;
};

} // namespace goss

#endif // GOSSAMER_STATUS_H_
