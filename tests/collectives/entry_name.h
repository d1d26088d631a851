/// Tests that run over every entry of the catalogue, by its index.
#ifndef GOSS_TESTS_COLLECTIVES_ENTRY_NAME_H_
#define GOSS_TESTS_COLLECTIVES_ENTRY_NAME_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "collectives/catalogue.h"
#include "schedule/contract.h"

namespace goss::collectives {

inline auto everyEntry() { return testing::Range<std::size_t>(0, builtinAlgorithms().entries().size()); }

inline std::string entryName(const testing::TestParamInfo<std::size_t>& info) {
  const Catalogue catalogue = builtinAlgorithms();
  const CatalogueEntry& entry = catalogue.entries()[info.param];
  std::string name = std::string(schedule::nameOf(entry.collective)) + "_" + std::string(entry.algorithm->name());
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

} // namespace goss::collectives

#endif // GOSS_TESTS_COLLECTIVES_ENTRY_NAME_H_
