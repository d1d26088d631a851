/// goss-explain gossip: who averages with whom, and how fast ranks agree.
#ifndef GOSS_BENCH_EXPLAIN_GOSSIP_H_
#define GOSS_BENCH_EXPLAIN_GOSSIP_H_

/// Takes the program's arguments from "gossip" on; returns its exit status.
int explainGossip(int argc, char** argv);

#endif // GOSS_BENCH_EXPLAIN_GOSSIP_H_
