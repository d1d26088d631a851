/// goss-bench gossip: how fast ranks come to their mean, by topology and codec.
#ifndef GOSS_BENCH_SUITE_GOSSIP_H_
#define GOSS_BENCH_SUITE_GOSSIP_H_

namespace goss::bench {

/// Takes the command line from "gossip" on. Returns the exit status.
int runGossip(int argc, char** argv);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_GOSSIP_H_
