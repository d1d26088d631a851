/// Where the simulated ranks are and what lies between them: the file that goss-sim --sites reads.
#ifndef GOSS_BENCH_SIM_SITES_H_
#define GOSS_BENCH_SIM_SITES_H_

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossamer/status.h"
#include "schedule/links.h"

namespace goss::bench::sim {

/// A price and the delay, evenly spread from 0 to so much, that is added to its latency.
struct JitteryPrice {
  schedule::LinkPrice price;
  double jitter_s = 0;
};

/// JSON, with the keys and units of link files (docs/formats.md):
///
///     {"within": {"base": "lan10g", "latency": "30us"},
///      "between": {"latency": "20ms", "bandwidth": "100MB/s", "jitter": "2ms"},
///      "sites": [{"count": 9, "up": "1Gbit/s", "down": "1Gbit/s"}, {"ranks": 50}],
///      "pairs": [{"from": 0, "to": 3, "latency": "80ms"}]}
///
/// Sites without "ranks" share what the others leave as evenly as can be; consecutive ranks are in one site. A pair's
/// price holds both ways and has the values of "between" where it says nothing else.
class Sites {
 public:
  /// Sites; the links between them are a matrix.
  static constexpr int kMaxSites = 1000;
  /// One site.
  explicit Sites(int ranks);
  /// Errors: invalidArgument, naming what is wrong.
  static Result<Sites> parse(std::string_view json, int ranks);

  [[nodiscard]] int ranks() const { return static_cast<int>(site_of_rank_.size()); }
  [[nodiscard]] int count() const { return static_cast<int>(ports_.size()); }
  [[nodiscard]] int siteOf(int rank) const { return site_of_rank_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const schedule::NodePrice& port(int site) const { return ports_[static_cast<std::size_t>(site)]; }
  [[nodiscard]] const JitteryPrice& within() const { return within_; }
  [[nodiscard]] const JitteryPrice& between(int one, int other) const;

 private:
  Status place(const nlohmann::json& list);
  Status readPair(const nlohmann::json& pair);

  std::vector<int> site_of_rank_;
  std::vector<schedule::NodePrice> ports_; ///< By site.
  JitteryPrice within_;
  JitteryPrice between_;
  std::map<std::pair<int, int>, JitteryPrice> pairs_; ///< The lower site first.
};

} // namespace goss::bench::sim

#endif // GOSS_BENCH_SIM_SITES_H_
