/// The results of the comparisons of plans so far.
#ifndef GOSS_LIB_RUNNER_TRIAL_RECORD_H_
#define GOSS_LIB_RUNNER_TRIAL_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "base/wire.h"

namespace goss {

/// A comparison of two plans that has ended. Algorithms are named as in the catalogue.
struct TrialFinding {
  std::uint64_t bytes = 0; ///< Size of the vectors.
  std::uint64_t call = 0;  ///< The first call, of those with so many bytes, after the comparison.
  std::string tried;
  std::string against; ///< The algorithm of the plan that was in use; perhaps the same, cut or shared out otherwise.
  double tried_s = 0;  ///< Medians over ranks of each one's least.
  double against_s = 0;
  bool adopted = false; ///< The plan that was tried is in use since then.

  /// The finding as a sentence for people.
  [[nodiscard]] std::string text() const;
  /// Writes all members but `bytes` and `call`, which the reader knows.
  void write(base::WireWriter& writer) const;
  /// Names are at most kMaxNameBytes long; not valid where reader.ok() is false afterwards.
  static TrialFinding read(base::WireReader& reader);
  static constexpr std::size_t kMaxNameBytes = 64;
};

/// A value; not thread-safe.
class TrialRecord {
 public:
  /// Older findings are dropped; they still count.
  static constexpr std::size_t kMaxFindings = 256;

  void add(TrialFinding finding);
  /// Plans that were compared with the one in use, and those that replaced it.
  [[nodiscard]] std::uint64_t tried() const { return tried_; }
  [[nodiscard]] std::uint64_t adopted() const { return adopted_; }
  [[nodiscard]] const std::deque<TrialFinding>& findings() const { return findings_; }

 private:
  std::uint64_t tried_ = 0;
  std::uint64_t adopted_ = 0;
  std::deque<TrialFinding> findings_;
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_TRIAL_RECORD_H_
