# Says what was found, and what is off because something was not.

# goss_summary(FOUND WHAT VERSION "what it gives" "Debian package")
function(goss_summary found what version gives package)
  string(SUBSTRING "${what}            " 0 12 what)
  if(found)
    message(STATUS "  ${what} ${version}: ${gives}")
  else()
    message(STATUS "  ${what} not found: no ${gives}; ${package}")
  endif()
endfunction()

set(GOSS_DESCRIPTION "${CMAKE_BUILD_TYPE}")
if(GOSS_SANITIZE)
  string(APPEND GOSS_DESCRIPTION ", ${GOSS_SANITIZE} sanitizer")
endif()
message(STATUS "Gossamer ${PROJECT_VERSION} (${GOSS_DESCRIPTION}), ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
goss_summary("${MPI_C_FOUND}" MPI "${MPI_C_VERSION}" "gossamer_mpi.h's tests, goss-bench --compare mpi, MPI examples"
             "apt-get install libopenmpi-dev openmpi-bin")
goss_summary("${PMIX_FOUND}" PMIx "${PMIX_VERSION}" "start under mpirun without MPI" "apt-get install libpmix-dev")
goss_summary("${HWLOC_FOUND}" hwloc "${HWLOC_VERSION}" "topology of hosts and caches" "apt-get install libhwloc-dev")
goss_summary("${UCX_FOUND}" UCX "${UCX_VERSION}" "ucx transport (not used yet)" "apt-get install libucx-dev")
goss_summary("${CUDAToolkit_FOUND}" CUDA "${CUDAToolkit_VERSION}" "device buffers (not used yet)" "NVIDIA's CUDA toolkit brings it")
goss_summary("${BLAS_FOUND}" BLAS "" "matrix products of goss-train" "apt-get install libopenblas-pthread-dev")
goss_summary("${CLI11_FOUND}" CLI11 "${CLI11_VERSION}" "goss-bench, goss-explain, goss-train" "apt-get install libcli11-dev")
goss_summary("${nlohmann_json_FOUND}" JSON "${nlohmann_json_VERSION}" "goss-explain, logs and checkpoints of goss-train"
             "apt-get install nlohmann-json3-dev")
