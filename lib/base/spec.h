/// Spec strings of synchronizers and topologies: "name" or "name:key=value,key=value".
#ifndef GOSS_LIB_BASE_SPEC_H_
#define GOSS_LIB_BASE_SPEC_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"

namespace goss::base {

struct SpecParameter {
  std::string key;
  std::string value;
};

struct SpecGrammar {
  std::string_view kind;       ///< What the specs name, such as "synchronizer"; errors begin with it.
  std::string_view example;    ///< A spec.
  std::string_view separators; ///< Characters any one of which ends a parameter.
  std::string_view last;       ///< A key whose value is the rest of the text, because it is a spec itself; "": none.
  std::string_view bare;       ///< The key of a first parameter that has none; "": each has one.
};

struct Spec {
  std::string_view kind; ///< SpecGrammar::kind
  std::string text;      ///< All of it.
  std::string name;
  std::vector<SpecParameter> parameters;
};

/// Names and keys are lower-case letters, digits, '_' and '-'. GOSS_ERR_INVALID_ARGUMENT says which part is wrong.
/// `grammar.kind` must outlive the spec.
Result<Spec> parseSpec(std::string_view text, const SpecGrammar& grammar);

/// A parameter that a method or a topology knows. `fallback` is a number, or text.
struct ParameterInfo {
  std::string_view key;
  std::string_view fallback;
  std::string_view meaning;
};

/// Takes a spec's parameters one by one and writes the canonical text. A wrong parameter gives a value all the same;
/// finish() reports the first one, or one that is not known.
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
  /// Whether the spec names the parameter.
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const std::string& name() const { return spec_.name; }
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

} // namespace goss::base

#endif // GOSS_LIB_BASE_SPEC_H_
