/// goss-bench codec: speed, ratio and error of the compressors on one core.
#ifndef GOSS_BENCH_LIMITS_CODEC_BENCH_H_
#define GOSS_BENCH_LIMITS_CODEC_BENCH_H_

namespace goss::bench {

/// Takes the whole command line, "codec" included. Returns the exit status.
int runCodecBench(int argc, char** argv);

} // namespace goss::bench

#endif // GOSS_BENCH_LIMITS_CODEC_BENCH_H_
