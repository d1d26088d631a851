#include <stdexcept>

#include "bench/suite/gloo_engine.h"

namespace goss::bench {

std::unique_ptr<Engine> makeGlooEngine(GossEngine&) {
  throw std::runtime_error(
      "this goss-bench was built without Gloo; install libgloo-dev and build again for --compare gloo");
}

} // namespace goss::bench
