#include "bench/suite/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace goss::bench {

namespace {

std::string cell(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* whole = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *whole);
  const auto& text = std::get<std::string>(value);
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

Record parse(const std::string& line) {
  const auto object = nlohmann::ordered_json::parse(line);
  if (!object.is_object()) throw std::invalid_argument("no object");
  Record record;
  for (const auto& [key, value] : object.items()) {
    if (value.is_number_unsigned())
      record.add(key, value.get<std::uint64_t>());
    else if (value.is_number())
      record.add(key, value.get<double>());
    else
      record.add(key, value.get<std::string>());
  }
  return record;
}

} // namespace

const Value* Record::find(const std::string& key) const {
  const auto found = std::ranges::find(fields_, key, &std::pair<std::string, Value>::first);
  return found == fields_.end() ? nullptr : &found->second;
}

std::string Record::text(const std::string& key) const {
  const Value* value = find(key);
  return value != nullptr && std::holds_alternative<std::string>(*value) ? std::get<std::string>(*value) : "";
}

std::optional<double> Record::number(const std::string& key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* real = std::get_if<double>(value)) return *real;
  if (const auto* whole = std::get_if<std::uint64_t>(value)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::string Record::json() const {
  nlohmann::ordered_json object;
  for (const auto& field : fields_)
    std::visit([&](const auto& value) { object[field.first] = value; }, field.second);
  return object.dump();
}

std::vector<Record> readRecords(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::vector<Record> records;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    try {
      records.push_back(parse(line));
    } catch (const std::exception&) {
      throw std::runtime_error(fmt::format("{}: line {} is no row of goss-bench --json", path, number));
    }
  }
  if (records.empty()) throw std::runtime_error(fmt::format("{} holds no rows; write it with goss-bench --json", path));
  return records;
}

std::string csv(const std::vector<Record>& records) {
  std::vector<std::string> keys;
  for (const Record& record : records) {
    for (const auto& field : record.fields())
      if (std::ranges::find(keys, field.first) == keys.end()) keys.push_back(field.first);
  }
  std::string table = fmt::format("{}\n", fmt::join(keys, ","));
  for (const Record& record : records) {
    std::vector<std::string> cells(keys.size());
    for (const auto& field : record.fields())
      cells[static_cast<std::size_t>(std::ranges::find(keys, field.first) - keys.begin())] = cell(field.second);
    table += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return table;
}

void writeFile(const std::string& path, const std::string& text, const std::string& option) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), &std::fclose);
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0)
    throw std::runtime_error(
        fmt::format("cannot write {}: {}; choose another {} file", path, std::strerror(errno), option));
}

} // namespace goss::bench
