/// What a link file of goss_comm_measure_links says, for people.
#ifndef GOSS_BENCH_LINKS_LINK_MAP_H_
#define GOSS_BENCH_LINKS_LINK_MAP_H_

#include <string>
#include <string_view>
#include <vector>

namespace goss::bench {

/// The links between ranks as they were measured. A value.
class LinkMap {
 public:
  /// The link from one rank to another.
  struct Link {
    double latency_s = 0;
    double bytes_per_s = 0; ///< 0: the text does not name this link.
    int varied_percent = 0; ///< How much the rate varied while it was measured; 0: it was steady.
    bool relayed = false;
  };
  /// What all links of some ranks carry together at most; 0: not known.
  struct Line {
    std::vector<int> ranks;
    double up_bytes_per_s = 0;
    double down_bytes_per_s = 0;
  };

  /// `names`: of the hosts, by rank. Lines of `text` that say nothing of pairs or nodes are skipped.
  LinkMap(std::string_view text, std::vector<std::string> names);

  [[nodiscard]] int size() const { return static_cast<int>(names_.size()); }
  [[nodiscard]] const Link& link(int from, int to) const;
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }

  /// A row for each rank that sends, a column for each that receives: round trip and rate; then the lines. Rates that
  /// varied and links that are relayed are marked, and the marks are explained; so is what else the text remarks.
  [[nodiscard]] std::string table() const;
  /// An SVG: ranks in a circle, a stroke for both directions of a pair, the wider the faster, with its figures.
  [[nodiscard]] std::string svg() const;

 private:
  Link* find(std::string_view from, std::string_view to);
  void readPair(const std::vector<std::string_view>& words);
  void readNode(const std::vector<std::string_view>& words);
  void readRemark(const std::vector<std::string_view>& words);

  std::vector<std::string> names_;
  std::vector<Link> links_; ///< The links of rank 0 to all others, then those of rank 1, and so on.
  std::vector<Line> lines_;
  std::vector<std::string> remarks_; ///< On lines and round trips.
};

} // namespace goss::bench

#endif // GOSS_BENCH_LINKS_LINK_MAP_H_
