// Ranks with different data train one model; the string alone chooses how they keep together (docs/synchronizers.md).
// Start with: mpirun -np 4 build/dev/bin/example_synchronizer diloco:h=5
#include <cmath>
#include <cstdio>
#include <gossamer/gossamer.hpp>
#include <string>
#include <vector>

namespace {

// The loss of rank r is the sum over i of (w[i] - r)^2 / 2. That of all ranks is least at the mean of the ranks.
bool train(const std::string& spec) {
  const gossamer::Comm comm = gossamer::Comm::create();
  std::vector<float> weights(100, 10.0F), gradient(100);
  auto sync = gossamer::Synchronizer::create(comm, spec);
  const int tensor = sync.add({.name = "weights", .parameter = weights, .gradient = gradient});
  sync.start();
  const float rate = 0.05F;
  for (int step = 0; step < 300; ++step) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      gradient[i] = weights[i] - static_cast<float>(comm.rank());
    sync.gradientReady(tensor); // its exchange starts
    sync.gradients();           // and has ended, where the method exchanges gradients
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] -= rate * gradient[i];
    sync.step();
  }
  sync.finish();
  const float mean = static_cast<float>(comm.size() - 1) / 2;
  std::printf("rank %d of %d: %s gives %g, the best is %g\n", comm.rank(), comm.size(), spec.c_str(), weights[0], mean);
  return std::abs(weights[0] - mean) < 0.01F && weights[0] == weights[99];
}

} // namespace

int main(int argc, char** argv) {
  try {
    return train(argc > 1 ? argv[1] : "ddp") ? 0 : 1;
  } catch (const gossamer::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
