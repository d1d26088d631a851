# Finds what the library builds on. Required: fmt, spdlog, xxHash, zstd, ISA-L, JSON, threads. Optional parts switch themselves off and are
# named in the summary with the package that brings them.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)

pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc)
pkg_check_modules(PMIX QUIET IMPORTED_TARGET pmix)
if(PMIX_FOUND) # its file asks for a search path at run time that nobody needs: the library lies in the usual folder too
  set_target_properties(PkgConfig::PMIX PROPERTIES INTERFACE_LINK_OPTIONS "")
endif()
pkg_check_modules(UCX QUIET IMPORTED_TARGET ucx)
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS C)
find_package(CUDAToolkit QUIET)
find_package(OpenSSL 3 QUIET)
find_package(Gloo QUIET)
find_package(CLI11 QUIET)
find_package(nlohmann_json REQUIRED)
find_package(BLAS QUIET)
if(GOSS_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# Folders of optional third-party headers that do not lie in the compiler's own path; the header test needs them.
set(GOSS_THIRD_PARTY_INCLUDES ${MPI_C_INCLUDE_DIRS} ${PMIX_INCLUDE_DIRS} ${HWLOC_INCLUDE_DIRS} ${UCX_INCLUDE_DIRS})
list(REMOVE_DUPLICATES GOSS_THIRD_PARTY_INCLUDES)
