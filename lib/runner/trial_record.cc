#include "runner/trial_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace goss {

namespace {

constexpr double kMicrosecond_s = 1e-6;

std::uint32_t microseconds(double seconds) {
  return static_cast<std::uint32_t>(
      std::clamp<double>(std::round(seconds / kMicrosecond_s), 0, std::numeric_limits<std::uint32_t>::max()));
}

} // namespace

std::string TrialFinding::text() const {
  return fmt::format("a plan {}: {} takes {:.3f} s, {} in use {:.3f}", adopted ? "adopted" : "tried", tried, tried_s,
                     against, against_s);
}

void TrialFinding::write(base::WireWriter& writer) const {
  writer.text(tried).integer(microseconds(tried_s)).text(against).integer(microseconds(against_s));
  writer.integer(static_cast<std::uint8_t>(adopted));
}

TrialFinding TrialFinding::read(base::WireReader& reader) {
  TrialFinding finding;
  finding.tried = reader.text(kMaxNameBytes);
  finding.tried_s = kMicrosecond_s * reader.integer<std::uint32_t>();
  finding.against = reader.text(kMaxNameBytes);
  finding.against_s = kMicrosecond_s * reader.integer<std::uint32_t>();
  finding.adopted = reader.integer<std::uint8_t>() != 0;
  return finding;
}

void TrialRecord::add(TrialFinding finding) {
  ++tried_;
  if (finding.adopted) ++adopted_;
  findings_.push_back(std::move(finding));
  if (findings_.size() > kMaxFindings) findings_.pop_front();
}

} // namespace goss
