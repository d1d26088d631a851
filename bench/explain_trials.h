/// goss-explain trials: which plans a job has compared over wide-area links, and what it found.
#ifndef GOSS_BENCH_EXPLAIN_TRIALS_H_
#define GOSS_BENCH_EXPLAIN_TRIALS_H_

/// Takes the program's arguments from "trials" on; returns its exit status.
int explainTrials(int argc, char** argv);

#endif // GOSS_BENCH_EXPLAIN_TRIALS_H_
