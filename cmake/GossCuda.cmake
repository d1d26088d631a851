# GOSS_CUDA=AUTO (kernels where nvcc is found), ON or OFF; GOSS_CUDA_ARCHITECTURES as CMAKE_CUDA_ARCHITECTURES. Sanitizers are for host
# code: there AUTO means OFF. Sets GOSS_CUDA_FOUND. Machine code runs on GPUs of its major version and its minor version or a later one, so
# that of 75, 80 and 90 serves 7.5, 8.x and 9.x; PTX of 90 runs on all later GPUs, 10.x and 12.x among them, whose driver compiles it as
# the kernels are loaded.
set(GOSS_CUDA AUTO CACHE STRING "Kernels for CUDA devices: AUTO, ON or OFF")
set(GOSS_CUDA_ARCHITECTURES "75-real;80-real;90-real;90-virtual" CACHE STRING "GPUs that kernels are compiled for")
set(GOSS_CUDA_FOUND FALSE)
if(GOSS_CUDA STREQUAL "ON" OR (GOSS_CUDA STREQUAL "AUTO" AND CUDAToolkit_FOUND AND NOT GOSS_SANITIZE))
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND CUDAToolkit_NVCC_EXECUTABLE)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${GOSS_CUDA_ARCHITECTURES}) # old versions of CMake try one that new toolkits lack
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 was there before nvcc had it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    set(GOSS_CUDA_FOUND TRUE)
  elseif(GOSS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GOSS_CUDA is ON and there is no nvcc that works; set CUDACXX to it, or GOSS_CUDA to OFF")
  endif()
endif()
