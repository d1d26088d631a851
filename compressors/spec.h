/// Spec strings: stages joined by '+', each "name" or "name:key=value,key=value". "topk:ratio=0.01+int4:block=128+ef"
/// is a sparsifier whose values go through int4, with error feedback.
#ifndef GOSS_COMPRESSORS_SPEC_H_
#define GOSS_COMPRESSORS_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"

namespace goss::compressors {

struct Parameter {
  std::string key;
  std::string value;
};

struct Stage {
  std::string name;
  std::vector<Parameter> parameters;
};

/// Names and keys are lower-case letters, digits and '_'; values have no ':', ',', '+' or '='.
/// GOSS_ERR_INVALID_ARGUMENT says which part is wrong.
Result<std::vector<Stage>> parseSpec(std::string_view text);

/// Takes a stage's parameters one by one. finish() reports the first wrong parameter, or one that no call asked for.
class StageReader {
 public:
  explicit StageReader(const Stage& stage) : stage_(stage) {}

  struct Range {
    double low, high;
  };
  double number(std::string_view key, double otherwise, Range allowed);
  std::uint64_t integer(std::string_view key, std::uint64_t otherwise, Range allowed);
  /// The value of `key`, a power of two.
  std::size_t block(std::string_view key, std::size_t otherwise, Range allowed);
  /// The position of the value in `choices`; the first one where the key is absent.
  std::size_t choice(std::string_view key, const std::vector<std::string_view>& choices);
  /// Refuses the stage for a reason that the caller found.
  void refuse(const std::string& reason);

  [[nodiscard]] Status finish() const;

  /// All parameters that were asked for, such as "block=256 (32 to 4096), mode=symmetric|minmax", the default first.
  [[nodiscard]] std::string parameters() const;

 private:
  struct Known {
    std::string_view key;
    std::string values;
  };
  const std::string* take(std::string_view key, std::string values);

  const Stage& stage_;
  std::vector<Known> known_;
  std::string flaw_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPEC_H_
