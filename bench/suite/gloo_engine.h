/// Gloo's side of a comparison. Built from gloo_engine.cc where Gloo was found, else from gloo_absent.cc.
#ifndef GOSS_BENCH_SUITE_GLOO_ENGINE_H_
#define GOSS_BENCH_SUITE_GLOO_ENGINE_H_

#include <memory>

#include "bench/suite/goss_engine.h"

namespace goss::bench {

/// Collective over the ranks of `goss`, which must outlive the engine: connects Gloo's TCP transport between them, over
/// the interface "lo" or the one in GOSS_INTERFACE. Throws std::runtime_error.
std::unique_ptr<Engine> makeGlooEngine(GossEngine& goss);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_GLOO_ENGINE_H_
