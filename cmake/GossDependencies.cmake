# Finds what the library builds on. Required: fmt, spdlog, xxHash, threads. Optional parts switch themselves off and are
# named in the summary with the package that brings them.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
pkg_check_modules(PMIX IMPORTED_TARGET pmix)
pkg_check_modules(UCX IMPORTED_TARGET ucx)
find_package(MPI COMPONENTS C)
find_package(CUDAToolkit QUIET)
find_package(CLI11 QUIET)
find_package(nlohmann_json QUIET)
find_package(BLAS QUIET)
if(GOSS_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
