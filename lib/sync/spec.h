/// Spec strings of synchronizers: "name" or "name:key=value,key=value".
#ifndef GOSS_LIB_SYNC_SPEC_H_
#define GOSS_LIB_SYNC_SPEC_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"

namespace goss::sync {

struct SpecParameter {
  std::string key;
  std::string value;
};

/// A codec's own spec has commas and colons, so `codec` comes last and its value is the rest of the text.
struct Spec {
  std::string name;
  std::vector<SpecParameter> parameters;
};

/// Names and keys are lower-case letters, digits, '_' and '-'. GOSS_ERR_INVALID_ARGUMENT says which part is wrong.
Result<Spec> parseSpec(std::string_view text);

/// A parameter that a method knows. `fallback` is a number, or text for a codec.
struct ParameterInfo {
  std::string_view key;
  std::string_view fallback;
  std::string_view meaning;
};

/// Takes a spec's parameters one by one and writes the canonical text. finish() reports the first wrong parameter, or
/// one that no call asked for.
class SpecReader {
 public:
  SpecReader(const Spec& spec, std::span<const ParameterInfo> known);

  struct Range {
    double low, high;
  };
  double number(std::string_view key, Range allowed);
  std::uint64_t integer(std::string_view key, Range allowed);
  std::string text(std::string_view key);
  /// Whether the value is `other` instead of the default. The canonical text leaves the default out, so that a
  /// parameter added later does not rename the method in checkpoints and records.
  bool choice(std::string_view key, std::string_view other);
  [[nodiscard]] bool knows(std::string_view key) const;
  /// Refuses the spec for a reason that concerns several parameters.
  void refuse(const std::string& reason);

  [[nodiscard]] Status finish() const;
  /// The spec with every parameter that is not a choice at its default, in the order in which parameters were asked
  /// for.
  [[nodiscard]] const std::string& canonical() const { return canonical_; }

 private:
  std::string_view take(std::string_view key);
  void note(std::string_view key, std::string_view value);

  const Spec& spec_;
  std::span<const ParameterInfo> known_;
  std::string canonical_;
  bool first_ = true;
  std::string flaw_;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_SPEC_H_
