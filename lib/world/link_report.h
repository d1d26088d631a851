/// The report that the ranks of a world exchange when their links are made.
#ifndef GOSS_LIB_WORLD_LINK_REPORT_H_
#define GOSS_LIB_WORLD_LINK_REPORT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace goss {

/// What a rank does about wide-area links: what GOSS_MEASURE says, unless other settings forbid it.
enum class Measuring : std::uint8_t { nothing = 0, links = 1, trials = 2 };

struct LinkReport {
  /// In worlds of more ranks nobody reports round trips: rank 0 hands every rank the reports of all.
  static constexpr int kMaxRanks = 1024;
  static constexpr std::size_t kMaxDeviceBytes = 16;
  /// The settings by which ranks plan, and which all ranks must have alike.
  static constexpr std::array<std::string_view, 5> kCommonSettings{"GOSS_ALGORITHM", "GOSS_CODEC",
                                                                   "GOSS_FRAGMENT_BYTES", "GOSS_TUNING", "GOSS_LINKS"};
  /// A number for each of kCommonSettings that tells its values apart, for files their contents; 0: it is not set.
  using CommonSettings = std::array<std::uint64_t, kCommonSettings.size()>;

  std::string trouble; ///< Why this rank could not connect; empty: it could.
  Measuring measuring = Measuring::nothing;
  CommonSettings settings{};
  bool has_devices = false; ///< There may be device buffers on this rank.
  /// The GPU that is current on this rank (Devices::currentIdentity()); empty: there is none, or it cannot be told.
  std::string device;
  /// Ranks and the round trips to them in seconds, with a resolution of a microsecond, where RoundTrips::add() wants
  /// them.
  std::vector<std::pair<int, double>> round_trips;

  /// The first of kCommonSettings that differs from `others`; "": none does.
  [[nodiscard]] std::string_view settingUnlike(const CommonSettings& others) const;

  [[nodiscard]] std::string encode() const;
  /// nullopt: the bytes are malformed, or name other ranks than 0 to `ranks` - 1.
  static std::optional<LinkReport> decode(std::string_view bytes, int ranks);
};

} // namespace goss

#endif // GOSS_LIB_WORLD_LINK_REPORT_H_
