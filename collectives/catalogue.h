/// All built-in algorithms, by an explicit list.
#ifndef GOSS_COLLECTIVES_CATALOGUE_H_
#define GOSS_COLLECTIVES_CATALOGUE_H_

#include "gossamer/algorithm.h"

namespace goss::collectives {

Catalogue builtinAlgorithms();

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_CATALOGUE_H_
