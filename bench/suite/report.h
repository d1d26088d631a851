/// Output: OSU's columns on standard output, and one JSON object a line in a file.
#ifndef GOSS_BENCH_SUITE_REPORT_H_
#define GOSS_BENCH_SUITE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace goss::bench {

/// One column of one row. Empty title: the field is only in the JSON object.
struct Field {
  std::string title;
  std::string key;
  std::variant<double, std::uint64_t, std::string> value;
  int width = 18;
};

/// Rank 0 writes; on the other ranks `enabled` is false and nothing is written. Throws std::runtime_error when the JSON
/// file cannot be written.
class Report {
 public:
  Report(bool enabled, const std::string& json_file, std::FILE* out = stdout);
  ~Report();

  /// Sets the fields that every JSON object has.
  void setContext(std::vector<Field> context) { context_ = std::move(context); }
  /// Prints a title line and comment lines; "# " is put before each.
  void header(const std::vector<std::string>& lines);
  /// Prints the column titles before the first row. `bytes` empty: the benchmark has no sizes.
  void row(std::optional<std::size_t> bytes, const std::vector<Field>& fields);
  void comment(const std::string& line);

 private:
  void writeJson(std::optional<std::size_t> bytes, const std::vector<Field>& fields);

  bool enabled_;
  std::FILE* out_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> json_;
  std::vector<Field> context_;
  bool titled_ = false;
};

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_REPORT_H_
