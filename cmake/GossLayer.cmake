# A directory is a layer is a target is a namespace, and the compiler finds only what a target may include.
#
# goss_room(TARGET FOLDER...) lets TARGET, and whoever links with it, include what lies in FOLDER. A header is included by its path
# from the root or, in lib/, from there; so each folder has a search path of its own in which it lies, as a link, under that path.
#
# goss_layer(NAME [COMPUTES] [DEPENDS layer...] [LIBRARIES lib...]) makes the static library goss_NAME from the *.cc files of the current
# directory. It may include its own folder, include/gossamer/ and what its DEPENDS may include. LIBRARIES are for its sources alone.
# COMPUTES: the sanitizers' presets optimise it. They leave out optimisation elsewhere, where it costs half of the compile time and
# saves a test little.
#
# goss_wing(FOLDER...) lets all targets of the current directory and of those below include what lies in these folders.
add_library(goss_options INTERFACE)
target_include_directories(goss_options INTERFACE ${PROJECT_SOURCE_DIR}/include)
# -ffp-contract=off: a product and a sum round twice everywhere, so that every machine and the GPU give the same bits.
target_compile_options(goss_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       -Werror=return-type -Werror=unused-result -ffp-contract=off
                       $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Werror=thread-safety> # lib/platform/thread_safety.h
                       # Without optimisation no loop becomes vector code.
                       $<$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,$<CONFIG:Debug>>:-Wno-pass-failed>)
target_link_libraries(goss_options INTERFACE Threads::Threads)
if(GOSS_SANITIZE STREQUAL "address")
  # A C caller may pass any int as an enumerator, and a peer may send one; both are checked where they arrive, which
  # the check of enumerators would not let us do.
  # The check of vptr opens a file, which fails in a test that has used up its descriptors.
  target_compile_options(goss_options INTERFACE -fsanitize=address,undefined -fno-sanitize=enum,vptr
                         -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(goss_options INTERFACE -fsanitize=address,undefined)
elseif(GOSS_SANITIZE STREQUAL "thread")
  target_compile_options(goss_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(goss_options INTERFACE -fsanitize=thread)
elseif(GOSS_SANITIZE)
  message(FATAL_ERROR "GOSS_SANITIZE must be empty, address or thread, not '${GOSS_SANITIZE}'")
endif()
# Clang links a C program with the half of the runtime that C needs; the library in it is C++.
if(GOSS_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
  target_link_options(goss_options INTERFACE $<$<LINK_LANGUAGE:C>:-fsanitize-link-c++-runtime>)
  target_link_libraries(goss_options INTERFACE $<$<LINK_LANGUAGE:C>:stdc++>)
endif()

# goss_precompile(TARGET library|test) lets the sources of TARGET start from headers that nearly all of them include and that are
# compiled once: reading them takes a compiler half of its time. Sources include what they use all the same, which scripts/lint
# sees, because it configures with -DGOSS_PRECOMPILE=OFF.
set(GOSS_PRECOMPILED <algorithm> <array> <chrono> <functional> <map> <memory> <optional> <span> <string> <string_view>
    <unordered_map> <utility> <vector>)
set(GOSS_PRECOMPILED_library ${GOSS_PRECOMPILED} <fmt/format.h> <fmt/ranges.h>)
set(GOSS_PRECOMPILED_test ${GOSS_PRECOMPILED} <gmock/gmock.h> <gtest/gtest.h>)
function(goss_precompile target kind)
  if(NOT GOSS_PRECOMPILE)
    return()
  endif()
  set(owner goss_precompiled_${kind})
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${owner}.cc CONTENT "")
    add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/${owner}.cc)
    # GCC takes the headers of a library for those of a program only if both are compiled alike.
    if(kind STREQUAL "test")
      target_link_libraries(${owner} PRIVATE goss_options GTest::gmock)
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${owner} PRIVATE -fPIE)
    else()
      target_link_libraries(${owner} PRIVATE goss_options fmt::fmt)
    endif()
    target_precompile_headers(${owner} PRIVATE ${GOSS_PRECOMPILED_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# The search path in which `folder` alone lies.
function(goss_search_path folder result)
  string(REGEX REPLACE "^lib/" "" written ${folder})
  string(REPLACE "/" "_" name ${written})
  set(path ${PROJECT_BINARY_DIR}/rooms/${name})
  cmake_path(GET written PARENT_PATH above)
  file(MAKE_DIRECTORY ${path}/${above})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${path}/${written} SYMBOLIC)
  set(${result} ${path} PARENT_SCOPE)
endfunction()

function(goss_room target)
  get_target_property(type ${target} TYPE)
  foreach(folder IN LISTS ARGN)
    goss_search_path(${folder} path)
    if(type STREQUAL "INTERFACE_LIBRARY")
      target_include_directories(${target} INTERFACE ${path})
    else()
      target_include_directories(${target} PUBLIC ${path})
    endif()
  endforeach()
endfunction()

macro(goss_wing)
  foreach(folder ${ARGN})
    goss_search_path(${folder} path)
    include_directories(${path})
  endforeach()
endmacro()

function(goss_layer name)
  cmake_parse_arguments(arg "COMPUTES" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM arg_DEPENDS PREPEND goss_)
  if(sources)
    add_library(goss_${name} STATIC ${sources})
    target_link_libraries(goss_${name} PUBLIC goss_options ${arg_DEPENDS} PRIVATE ${arg_LIBRARIES})
    if(arg_COMPUTES AND GOSS_SANITIZE)
      target_compile_options(goss_${name} PRIVATE -O1)
    elseif(fmt::fmt IN_LIST arg_LIBRARIES) # headers are precompiled with the options of most layers
      goss_precompile(goss_${name} library)
    endif()
  else() # headers only
    add_library(goss_${name} INTERFACE)
    target_link_libraries(goss_${name} INTERFACE goss_options ${arg_DEPENDS} ${arg_LIBRARIES})
  endif()
  goss_room(goss_${name} ${folder})
endfunction()

# goss_compute(source...) optimises these sources as if their target did nothing but compute (COMPUTES of goss_layer).
function(goss_compute)
  if(GOSS_SANITIZE)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -O1)
    set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# What every test runs with: Open MPI starts as root and on few cores; sanitizers stop at their first finding; and under a
# sanitizer a heavy test takes its smaller form (tests/support/quick.h), because GOSS_TEST_QUICK is set.
set(GOSS_TEST_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl_tcp_if_include=lo OPENBLAS_NUM_THREADS=1)
if(GOSS_SANITIZE)
  set(suppressions ${PROJECT_SOURCE_DIR}/tests/sanitizers)
  list(APPEND GOSS_TEST_ENVIRONMENT GOSS_TEST_QUICK=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
       ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:malloc_context_size=12
       HWLOC_PLUGINS_BLACKLIST=hwloc_pci.so # it leaks, and is unloaded before a report could name it
       LSAN_OPTIONS=print_suppressions=0:suppressions=${suppressions}/leaks.txt
       TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${suppressions}/threads.txt)
endif()

# goss_test_program(NAME [LABEL label...] [TIMEOUT seconds] [PURE] [PLAIN] [LONG] [LIBRARIES lib...]) makes one GoogleTest program from the
# *.cc files of the current directory and registers it with CTest.
# PURE: what it tests runs in one thread, so ThreadSanitizer has nothing to see and the preset tsan leaves the test out.
# PLAIN: a build without sanitizers shows more than one with them, because there the test is shorter (GOSS_TEST_QUICK), has more
# transports, or compares bits that compilers make; so it is not left out by GOSS_TESTS=once.
# LONG: CTest begins with it. A test that is left out is built only when its target is named.
set(GOSS_TESTS all CACHE STRING "Without sanitizers: all tests, or once: those that the preset asan does not run as fully")
function(goss_test_program name)
  cmake_parse_arguments(arg "PURE;PLAIN;LONG" "TIMEOUT" "LABEL;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(GOSS_SANITIZE) # sanitized code that is not optimised is many times slower
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 6")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE goss_options ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  goss_precompile(${name} test)
  if((arg_PURE AND GOSS_SANITIZE STREQUAL "thread") OR (GOSS_TESTS STREQUAL "once" AND NOT GOSS_SANITIZE AND NOT arg_PLAIN))
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABEL}"
                       ENVIRONMENT "${GOSS_TEST_ENVIRONMENT}")
  if(arg_LONG)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()

# goss_plug(NAME LAYER) makes libgossamer_NAME.so of the layer goss_LAYER and plug/plug.cc: it is loaded when GOSS_TRANSPORT or
# GOSS_DEVICE asks for it, so that nobody else links what it links.
function(goss_plug name layer)
  add_library(gossamer_${name} MODULE plug/plug.cc)
  target_link_libraries(gossamer_${name} PRIVATE goss_${layer})
  target_link_options(gossamer_${name} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/plug.map
                      -Wl,-soname,libgossamer_${name}.so)
  set_target_properties(gossamer_${name} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/plug.map)
  set_property(GLOBAL APPEND PROPERTY GOSS_PLUGS gossamer_${name})
endfunction()
