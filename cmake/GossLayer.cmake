# A directory is a layer is a target is a namespace.
#
# goss_layer(NAME [DEPENDS layer...] [LIBRARIES lib...]) makes the static library goss_NAME from the *.cc files of the
# current directory. It may include what its DEPENDS may include, and nothing else: see tests/layering.
add_library(goss_options INTERFACE)
target_include_directories(goss_options INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR})
# -ffp-contract=off: a product and a sum round twice everywhere, so that every machine and the GPU give the same bits.
target_compile_options(goss_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       -Werror=return-type -Werror=unused-result -ffp-contract=off)
target_link_libraries(goss_options INTERFACE Threads::Threads)
if(GOSS_SANITIZE STREQUAL "address")
  target_compile_options(goss_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                         -fno-omit-frame-pointer)
  target_link_options(goss_options INTERFACE -fsanitize=address,undefined)
elseif(GOSS_SANITIZE STREQUAL "thread")
  target_compile_options(goss_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(goss_options INTERFACE -fsanitize=thread)
elseif(GOSS_SANITIZE)
  message(FATAL_ERROR "GOSS_SANITIZE must be empty, address or thread, not '${GOSS_SANITIZE}'")
endif()

function(goss_layer name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(TRANSFORM arg_DEPENDS PREPEND goss_)
  if(NOT sources) # headers only
    add_library(goss_${name} INTERFACE)
    target_link_libraries(goss_${name} INTERFACE goss_options ${arg_DEPENDS} ${arg_LIBRARIES})
    return()
  endif()
  add_library(goss_${name} STATIC ${sources})
  target_link_libraries(goss_${name} PUBLIC goss_options ${arg_DEPENDS} PRIVATE ${arg_LIBRARIES})
endfunction()

# goss_test_program(NAME [LABEL label] [TIMEOUT seconds] [LIBRARIES lib...]) makes one GoogleTest program from the *_test.cc files of the
# current directory and registers it with CTest.
function(goss_test_program name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE goss_options ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABEL}")
endfunction()
