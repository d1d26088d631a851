/// The limit between local and wide-area networks.
#ifndef GOSS_LIB_BASE_WIDE_AREA_H_
#define GOSS_LIB_BASE_WIDE_AREA_H_

namespace goss {

/// Round trips in seconds that are at least as long are those of a wide-area network. Waking a thread up takes less
/// than a hundredth of that.
inline constexpr double kWideAreaRoundTrip_s = 2e-3;

} // namespace goss

#endif // GOSS_LIB_BASE_WIDE_AREA_H_
