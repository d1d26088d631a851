// Writes the tables of docs/ that list codecs, synchronizers and transports, or tells which of them are out of date:
//   document_tables [--write] ROOT
// A table stands between lines "<!-- begin: NAME -->" and "<!-- end: NAME -->".
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "builtins/builtins.h"
#include "compressors/catalogue.h"
#include "sync/methods.h"

namespace goss {
namespace {

/// What stands in a table's first column, and the rest of the row.
struct Row {
  std::vector<std::string> names;
  std::string rest;
};

/// Rows with equal rests become one.
void add(std::vector<Row>& rows, std::string_view name, const std::string& rest) {
  for (Row& row : rows) {
    if (row.rest == rest) {
      row.names.emplace_back(name);
      return;
    }
  }
  rows.push_back({{std::string(name)}, rest});
}

std::string quoted(const std::vector<std::string>& names) { return fmt::format("`{}`", fmt::join(names, "`, `")); }

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

/// `|` ends a cell otherwise.
std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

template <typename StageKind>
std::string parametersOf(const StageKind& stage) {
  const compressors::Stage plain{std::string(stage.name), {}};
  compressors::StageReader reader(plain);
  stage.read(reader);
  return reader.parameters();
}

template <typename Stages>
std::string stageTable(std::string_view head, const Stages& stages) {
  std::vector<Row> rows;
  for (const auto& stage : stages) {
    add(rows, stage.name,
        fmt::format(" | {} | {} | {} | {} |\n", code(escaped(parametersOf(stage))), stage.text.bytes,
                    stage.text.summary, stage.text.source));
  }
  std::string table = fmt::format("{}\n|---|---|---|---|---|\n", head);
  for (const Row& row : rows) {
    table += "| " + quoted(row.names) + row.rest;
  }
  return table;
}

std::string valueTable() {
  return stageTable("| stage | parameters (default first) | bytes/element | what it does | source |",
                    compressors::valueStages());
}

std::string sparsifierTable() {
  return stageTable("| stage | parameters (default first) | indices | what it picks | source |",
                    compressors::sparsifierStages());
}

std::string payloadList() {
  std::vector<Row> rows;
  for (const auto& stage : compressors::valueStages()) {
    add(rows, stage.name, std::string(stage.text.format));
  }
  for (const auto& stage : compressors::sparsifierStages()) {
    add(rows, stage.name, std::string(stage.text.format));
  }
  std::string list;
  for (const Row& row : rows) {
    list += fmt::format("- {}: {}\n", quoted(row.names), row.rest);
  }
  return list;
}

std::string aliasList() {
  std::string list;
  for (const compressors::Alias& alias : compressors::aliases()) {
    list += fmt::format("- `{}`: `{}`\n", alias.name, alias.spec);
  }
  return list;
}

/// Without what most methods have: `islands=0` and `codec=none`.
std::string methodTable() {
  std::string table = "| method | parameters | what it does | source |\n|---|---|---|---|\n";
  for (const sync::Method* method : sync::allMethods()) {
    std::string parameters;
    for (const sync::ParameterInfo& info : method->parameters) {
      const std::string text = fmt::format("{}={}", info.key, info.fallback);
      if (text == "islands=0" || text == "codec=none") continue;
      parameters += (parameters.empty() ? "" : ", ") + text;
    }
    table += fmt::format("| `{}` | {} | {} | {} |\n", method->name, code(parameters), method->summary, method->paper);
  }
  return table;
}

std::string transportTable() {
  constexpr std::array kReaches = {"one process", "one host", "any hosts"};
  std::string table = "| transport | joins ranks of | | what it is |\n|---|---|---|---|\n";
  for (const TransportEntry& entry : builtinTransports()) {
    table += fmt::format("| `{}` | {} | {} | {} |\n", entry.name, kReaches[static_cast<std::size_t>(entry.reach)],
                         entry.by_default ? "default" : "when named", entry.summary);
  }
  return table;
}

struct Table {
  const char* document;
  const char* name;
  std::string (*text)();
};
constexpr std::array kTables{
    Table{"docs/compressors.md", "value codecs", valueTable},
    Table{"docs/compressors.md", "sparsifiers", sparsifierTable},
    Table{"docs/compressors.md", "compositions", aliasList},
    Table{"docs/formats.md", "codec payloads", payloadList},
    Table{"docs/synchronizers.md", "methods", methodTable},
    Table{"docs/environment.md", "transports", transportTable},
};

std::string readFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The document with the table in its place; an empty text where there is no such place.
std::string withTable(const std::string& document, const Table& table) {
  const std::string begin = fmt::format("<!-- begin: {} -->\n", table.name);
  const std::string end = fmt::format("<!-- end: {} -->", table.name);
  const std::size_t from = document.find(begin), to = document.find(end);
  if (from == std::string::npos || to == std::string::npos) return "";
  return document.substr(0, from) + begin + table.text() + document.substr(to);
}

int run(const std::string& root, bool write) {
  int wrong = 0;
  for (const Table& table : kTables) {
    const std::string path = root + "/" + table.document;
    const std::string before = readFile(path), after = withTable(before, table);
    if (after.empty()) {
      fmt::print(stderr, "{} has no place for the table '{}'\n", table.document, table.name);
      ++wrong;
    } else if (after != before && write) {
      std::ofstream(path) << after;
    } else if (after != before) {
      fmt::print(stderr, "{}: the table '{}' is out of date; write it again: ninja document_tables_write\n",
                 table.document, table.name);
      ++wrong;
    }
  }
  return wrong == 0 ? 0 : 1;
}

} // namespace
} // namespace goss

int main(int argc, char** argv) {
  const bool write = argc == 3 && std::string_view(argv[1]) == "--write";
  if (argc != 2 && !write) {
    fmt::print(stderr, "usage: document_tables [--write] ROOT\n");
    return 2;
  }
  return goss::run(argv[argc - 1], write);
}
