/// All built-in algorithms, by an explicit list.
#ifndef GOSS_COLLECTIVES_CATALOGUE_H_
#define GOSS_COLLECTIVES_CATALOGUE_H_

#include <memory>
#include <string_view>
#include <vector>

#include "gossamer/algorithm.h"

namespace goss::collectives {

/// An algorithm and the collective that it is for.
struct CatalogueEntry {
  Collective collective = Collective::allReduce;
  std::unique_ptr<const Algorithm> algorithm;
};

/// A value that its owner keeps and passes down. Immutable once made; safe for concurrent use.
class Catalogue {
 public:
  explicit Catalogue(std::vector<CatalogueEntry> entries) : entries_(std::move(entries)) {}
  [[nodiscard]] const std::vector<CatalogueEntry>& entries() const { return entries_; }
  /// All algorithms of one collective, in the order of the list.
  [[nodiscard]] std::vector<const Algorithm*> of(Collective collective) const;
  /// nullptr when there is none of that name.
  [[nodiscard]] const Algorithm* find(Collective collective, std::string_view name) const;

 private:
  std::vector<CatalogueEntry> entries_;
};

Catalogue builtinAlgorithms();

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_CATALOGUE_H_
