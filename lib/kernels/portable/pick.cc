#include <array>

#include "kernels/table.h"

namespace goss::kernels {

std::span<const Table> availableTables() {
  static const std::array<Table, 1> tables = {makeDefaultTable()};
  return tables;
}

} // namespace goss::kernels
