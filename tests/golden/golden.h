/// Reads the golden files of wire formats: a case a line, "accept|refuse NAME HEX", and comments that begin with #.
#ifndef GOSS_TESTS_GOLDEN_GOLDEN_H_
#define GOSS_TESTS_GOLDEN_GOLDEN_H_

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace goss::test {

struct GoldenCase {
  bool accept = false;
  std::string name;
  std::string bytes;
};

/// Empty when the file cannot be read; callers check that it is not.
inline std::vector<GoldenCase> readGolden(const std::string& path) {
  std::vector<GoldenCase> cases;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string verdict;
    std::string hex;
    GoldenCase one;
    fields >> verdict >> one.name >> hex;
    one.accept = verdict == "accept";
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      one.bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    cases.push_back(std::move(one));
  }
  return cases;
}

inline std::string toHex(const std::string& bytes) {
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex.push_back("0123456789abcdef"[byte >> 4]);
    hex.push_back("0123456789abcdef"[byte & 15]);
  }
  return hex;
}

} // namespace goss::test

#endif // GOSS_TESTS_GOLDEN_GOLDEN_H_
