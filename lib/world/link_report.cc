#include "world/link_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/wire.h"

namespace goss {

namespace {

constexpr std::size_t kMaxTroubleBytes = 16u << 10;
constexpr double kMicrosecond_s = 1e-6;

} // namespace

std::string_view LinkReport::settingUnlike(const CommonSettings& others) const {
  const auto [own, other] = std::mismatch(settings.begin(), settings.end(), others.begin());
  return own != settings.end() ? kCommonSettings[static_cast<std::size_t>(own - settings.begin())] : "";
}

std::string LinkReport::encode() const {
  base::WireWriter writer;
  writer.text(std::string_view(trouble).substr(0, kMaxTroubleBytes));
  writer.integer(static_cast<std::uint8_t>(measuring)).integer(static_cast<std::uint8_t>(has_devices));
  for (const std::uint64_t setting : settings)
    writer.integer(setting);
  writer.text(std::string_view(device).substr(0, kMaxDeviceBytes));
  writer.integer(static_cast<std::uint32_t>(round_trips.size()));
  for (const auto& [peer, seconds] : round_trips) {
    const double microseconds =
        std::min<double>(std::round(seconds / kMicrosecond_s), std::numeric_limits<std::uint32_t>::max());
    writer.integer(static_cast<std::uint32_t>(peer)).integer(static_cast<std::uint32_t>(microseconds));
  }
  return writer.take();
}

std::optional<LinkReport> LinkReport::decode(std::string_view bytes, int ranks) {
  base::WireReader reader(bytes);
  LinkReport report;
  report.trouble = reader.text(kMaxTroubleBytes);
  const auto measuring = reader.integer<std::uint8_t>();
  const auto has_devices = reader.integer<std::uint8_t>();
  if (measuring > static_cast<std::uint8_t>(Measuring::trials) || has_devices > 1) return std::nullopt;
  report.measuring = static_cast<Measuring>(measuring);
  report.has_devices = has_devices == 1;
  for (std::uint64_t& setting : report.settings)
    setting = reader.integer<std::uint64_t>();
  report.device = reader.text(kMaxDeviceBytes);
  const auto count = reader.integer<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
    const auto peer = reader.integer<std::uint32_t>();
    const auto microseconds = reader.integer<std::uint32_t>();
    if (peer >= static_cast<std::uint32_t>(ranks)) return std::nullopt;
    report.round_trips.emplace_back(static_cast<int>(peer), kMicrosecond_s * microseconds);
  }
  if (!reader.complete()) return std::nullopt;
  return report;
}

} // namespace goss
