# libgossamer.a: one object of all layers in which only goss_* is global, as libgossamer.so shows only goss_*. So no other name of it can
# meet one of the program's. The target is Gossamer::gossamer_static; a plug is found beside the program, or where the loader looks.

# Adds what `target` is linked with, directly or not, to the lists `layers` (static libraries of this project) and `names` (what others
# must be linked with).
function(goss_collect target)
  get_target_property(type ${target} TYPE)
  set(linked "")
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    list(APPEND layers ${target})
    get_target_property(linked ${target} LINK_LIBRARIES)
  else()
    get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
  endif()
  foreach(library IN LISTS linked)
    if(library MATCHES "^PkgConfig::(.*)$")
      list(APPEND names ${${CMAKE_MATCH_1}_LIBRARIES})
    elseif(library MATCHES "^(fmt|spdlog)::")
      list(APPEND names ${CMAKE_MATCH_1})
    elseif(library STREQUAL "OpenSSL::SSL")
      list(APPEND names ssl crypto)
    elseif(library MATCHES "^goss_" AND NOT library STREQUAL "goss_options")
      if(NOT library IN_LIST layers)
        goss_collect(${library})
      endif()
    elseif(NOT library MATCHES "^(goss_options|nlohmann_json::.*|\\$<.*|.*-NOTFOUND)$" AND NOT library STREQUAL "${CMAKE_DL_LIBS}")
      message(FATAL_ERROR "cmake/GossStatic.cmake does not know how others link with '${library}', which ${target} uses")
    endif()
  endforeach()
  set(layers ${layers} PARENT_SCOPE)
  set(names ${names} PARENT_SCOPE)
endfunction()

set(layers "")
set(names "")
goss_collect(gossamer)
list(APPEND names pthread ${CMAKE_DL_LIBS} stdc++ m)
list(REMOVE_DUPLICATES names)
list(TRANSFORM names PREPEND "-l" OUTPUT_VARIABLE GOSS_STATIC_LIBS)

set(objects "")
foreach(layer IN LISTS layers)
  list(APPEND objects "$<TARGET_OBJECTS:${layer}>")
endforeach()
set(work ${PROJECT_BINARY_DIR}/static)
set(archive ${PROJECT_BINARY_DIR}/lib/libgossamer.a)
file(GENERATE OUTPUT ${work}/objects.rsp CONTENT "\"$<JOIN:${objects},\"\n\">\"\n")
# The sections of inline functions leave their groups, so that what becomes local here is not taken for a copy of what a program has.
add_custom_command(OUTPUT ${archive}
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${work}/all.o @${work}/objects.rsp
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=goss_* ${work}/all.o ${work}/gossamer.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive} ${work}/all.o
  COMMAND ${CMAKE_AR} qcs ${archive} ${work}/gossamer.o
  DEPENDS ${layers} ${work}/objects.rsp VERBATIM COMMENT "Making libgossamer.a")
add_custom_target(goss_static ALL DEPENDS ${archive})

add_library(gossamer_static INTERFACE)
add_library(Gossamer::gossamer_static ALIAS gossamer_static)
add_dependencies(gossamer_static goss_static)
target_include_directories(gossamer_static INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(gossamer_static INTERFACE $<BUILD_INTERFACE:${archive}>
                      $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/libgossamer.a> ${GOSS_STATIC_LIBS})
