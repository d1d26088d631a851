/// What a run has measured, a record a row, and the files that hold it.
#ifndef GOSS_BENCH_SUITE_RECORDS_H_
#define GOSS_BENCH_SUITE_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace goss::bench {

using Value = std::variant<double, std::uint64_t, std::string>;

/// Keys with their values, in the order in which they were added.
class Record {
 public:
  void add(const std::string& key, Value value) { fields_.emplace_back(key, std::move(value)); }
  [[nodiscard]] const std::vector<std::pair<std::string, Value>>& fields() const { return fields_; }
  /// The text under `key`; "" if there is none.
  [[nodiscard]] std::string text(const std::string& key) const;
  /// The number under `key`, if there is one.
  [[nodiscard]] std::optional<double> number(const std::string& key) const;
  /// One line of JSON, without its end.
  [[nodiscard]] std::string json() const;

 private:
  [[nodiscard]] const Value* find(const std::string& key) const;

  std::vector<std::pair<std::string, Value>> fields_;
};

/// Reads a file of --json. Throws std::runtime_error naming the file and the line that is wrong.
std::vector<Record> readRecords(const std::string& path);

/// A table with a column for every key of any record; cells without a value are empty.
std::string csv(const std::vector<Record>& records);

/// Writes a whole file. Throws std::runtime_error naming `path`, why it could not be written, and `option`, which chose
/// it.
void writeFile(const std::string& path, const std::string& text, const std::string& option);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_RECORDS_H_
