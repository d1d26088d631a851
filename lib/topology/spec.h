/// Spec strings of topologies: "name", "name:4x4", "name:key=value,key=value" or "name:4x4,key=value".
#ifndef GOSS_LIB_TOPOLOGY_SPEC_H_
#define GOSS_LIB_TOPOLOGY_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossamer/status.h"

namespace goss::topology {

/// Takes a spec apart. Parameters are separated by ',' or, inside of another spec, by ';'. Calls that read a wrong
/// parameter give a default; finish() then says what is wrong.
class SpecReader {
 public:
  explicit SpecReader(std::string_view spec);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The rest of the text as it stands.
  std::string rest();
  /// Lengths such as "4x4" in front of the keys; each is at least 1. Empty: there are none.
  std::vector<int> dims();
  std::int64_t integer(std::string_view key, std::int64_t fallback);
  std::string word(std::string_view key, std::string_view fallback);
  void refuse(const std::string& reason);

  /// Ok, or the first thing that was wrong, such as a parameter that nobody asked for.
  [[nodiscard]] Status finish() const;

 private:
  struct Parameter {
    std::string key; ///< Empty: dims.
    std::string value;
    bool is_read = false;
  };
  Parameter* find(std::string_view key);

  std::string spec_;
  std::string name_;
  std::vector<Parameter> parameters_;
  std::string flaw_;
};

} // namespace goss::topology

#endif // GOSS_LIB_TOPOLOGY_SPEC_H_
