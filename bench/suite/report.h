/// Output: OSU's columns on standard output; files with one JSON object a line, a table of comma-separated values, a
/// picture.
#ifndef GOSS_BENCH_SUITE_REPORT_H_
#define GOSS_BENCH_SUITE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/suite/records.h"

namespace goss::bench {

/// One column of one row. Empty title: the field is only in the files.
struct Field {
  std::string title;
  std::string key;
  Value value;
  int width = 18;
};

/// Names of files to write; "" for none.
struct ReportFiles {
  std::string json; ///< A row is in it as soon as it has been printed.
  std::string csv;  ///< Written by finish(), as is the next.
  std::string plot; ///< SVG.
};

/// Rank 0 writes; on the other ranks `enabled` is false and nothing is written. The constructor, row() and finish()
/// throw std::runtime_error when a file cannot be written.
class Report {
 public:
  Report(bool enabled, ReportFiles files, std::FILE* out = stdout);
  ~Report();

  /// Sets the fields that every row has in the files.
  void setContext(std::vector<Field> context) { context_ = std::move(context); }
  /// Prints a title line and comment lines; "# " is put before each that is not empty.
  void header(const std::vector<std::string>& lines);
  /// Prints the column titles before the first row. `bytes` empty: the benchmark has no sizes.
  void row(std::optional<std::size_t> bytes, const std::vector<Field>& fields);
  void comment(const std::string& line);
  /// Writes the files that need all rows.
  void finish();

 private:
  void printLine(bool sized, const std::string& size, const std::vector<Field>& fields,
                 const std::function<std::string(const Field&)>& textOf);
  void record(std::optional<std::size_t> bytes, const std::vector<Field>& fields);

  bool enabled_;
  ReportFiles files_;
  std::FILE* out_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> json_;
  std::vector<Field> context_;
  std::vector<Record> records_;
  bool titled_ = false;
};

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_REPORT_H_
