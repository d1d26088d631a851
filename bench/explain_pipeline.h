/// goss-explain pipeline: timelines and prices of pipeline schedules.
#ifndef GOSS_BENCH_EXPLAIN_PIPELINE_H_
#define GOSS_BENCH_EXPLAIN_PIPELINE_H_

/// Like main: `argv` are the arguments of the subcommand, argv[0] its name.
int explainPipeline(int argc, char** argv);

#endif // GOSS_BENCH_EXPLAIN_PIPELINE_H_
