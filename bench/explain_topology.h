/// goss-explain topology: the machine's structure, as the library sees it.
#ifndef GOSS_BENCH_EXPLAIN_TOPOLOGY_H_
#define GOSS_BENCH_EXPLAIN_TOPOLOGY_H_

/// Takes the program's arguments from "topology" on; returns its exit status.
int explainTopology(int argc, char** argv);

#endif // GOSS_BENCH_EXPLAIN_TOPOLOGY_H_
