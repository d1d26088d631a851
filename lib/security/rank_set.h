/// Which ranks credentials allow their owner to be.
#ifndef GOSS_LIB_SECURITY_RANK_SET_H_
#define GOSS_LIB_SECURITY_RANK_SET_H_

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace goss::security {

/// Written "any", or as ranks and ranges of them: "3", "0-7,12". Empty: none. A value.
class RankSet {
 public:
  static RankSet any();
  /// Nothing when `text` is not such a list.
  static std::optional<RankSet> parse(std::string_view text);
  [[nodiscard]] bool contains(int rank) const;

 private:
  std::vector<std::pair<int, int>> ranges_; ///< First and last.
};

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_RANK_SET_H_
