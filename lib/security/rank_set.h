/// The ranks that credentials allow their owner to be.
#ifndef GOSS_LIB_SECURITY_RANK_SET_H_
#define GOSS_LIB_SECURITY_RANK_SET_H_

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace goss::security {

/// A set of ranks, written "any", or as ranks and ranges: "3", "0-7,12". A value; empty by default.
class RankSet {
 public:
  static RankSet any();
  /// Parses a list; nullopt when `text` is malformed.
  static std::optional<RankSet> parse(std::string_view text);
  [[nodiscard]] bool contains(int rank) const;

 private:
  std::vector<std::pair<int, int>> ranges_; ///< First and last.
};

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_RANK_SET_H_
