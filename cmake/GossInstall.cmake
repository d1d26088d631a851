# cmake --install: components. runtime: libgossamer.so.0 and libnccl.so.2; plugs: what it loads where MPI or UCX are, and MPI's
# interposer; development: headers, and what CMake and pkg-config need to find them; static: libgossamer.a; tools: programs;
# aten: goss-train's backend; documents: licence and examples. The target uninstall takes back what was installed last.
include(CMakePackageConfigHelpers)

# The C ABI, and gossamer.hpp over it: the other C++ headers declare what no program can use, because the library exports nothing of it.
set(abi_headers abi.h compression.h gossamer.h gossip.h gossamer_mpi.h links.h pipeline.h sync.h window.h)
list(TRANSFORM abi_headers PREPEND ${PROJECT_SOURCE_DIR}/include/gossamer/)
install(FILES ${abi_headers} ${PROJECT_SOURCE_DIR}/include/gossamer/gossamer.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gossamer
        COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gossamer/cpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gossamer COMPONENT development)
foreach(program goss-bench goss-explain goss-links goss-pipeline-bench goss-sim goss-tune goss-train goss-wanem goss-keys)
  if(TARGET ${program})
    install(FILES ${PROJECT_SOURCE_DIR}/tools/completion/goss.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
            RENAME ${program} COMPONENT tools)
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
    # An installed program finds the library that was installed with it, wherever the prefix is.
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  endif()
endforeach()

if(TARGET goss_train_aten)
  install(TARGETS goss_train_aten LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT aten)
endif()

if(TARGET gossamer)
  set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Gossamer)
  install(TARGETS gossamer EXPORT GossamerTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
  get_property(plugs GLOBAL PROPERTY GOSS_PLUGS)
  if(plugs)
    install(TARGETS ${plugs} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT plugs)
  endif()
  if(TARGET goss_mpi_interposer)
    install(TARGETS goss_mpi_interposer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT plugs)
  endif()
  if(TARGET goss_nccl) # in a folder of its own: no program takes it for NVIDIA's without asking
    install(TARGETS goss_nccl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gossamer COMPONENT runtime NAMELINK_SKIP)
  endif()
  if(TARGET gossamer_static)
    install(FILES ${PROJECT_BINARY_DIR}/lib/libgossamer.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT static)
    install(TARGETS gossamer_static EXPORT GossamerStaticTargets)
    install(EXPORT GossamerStaticTargets NAMESPACE Gossamer:: DESTINATION ${cmake_dir} COMPONENT static)
  endif()
  install(EXPORT GossamerTargets NAMESPACE Gossamer:: DESTINATION ${cmake_dir} COMPONENT development)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/GossamerConfig.cmake.in ${PROJECT_BINARY_DIR}/GossamerConfig.cmake
                                INSTALL_DESTINATION ${cmake_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/GossamerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/GossamerConfig.cmake ${PROJECT_BINARY_DIR}/GossamerConfigVersion.cmake
          DESTINATION ${cmake_dir} COMPONENT development)
  file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(pc_libs "-L\${libdir} -lgossamer")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/gossamer.pc.in ${PROJECT_BINARY_DIR}/gossamer.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/gossamer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  if(TARGET gossamer_static)
    list(JOIN GOSS_STATIC_LIBS " " pc_libs)
    string(PREPEND pc_libs "\${libdir}/libgossamer.a ")
    configure_file(${PROJECT_SOURCE_DIR}/cmake/gossamer.pc.in ${PROJECT_BINARY_DIR}/gossamer-static.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/gossamer-static.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT static)
  endif()
endif()

set(examples ${PROJECT_SOURCE_DIR}/examples/)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)
install(DIRECTORY ${examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT documents PATTERN CMakeLists.txt EXCLUDE)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM)

# cpack -G DEB, which scripts/packages calls.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gossamer)
set(CPACK_PACKAGE_CONTACT "The Gossamer authors <authors@gossamer.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "collective communication for training over any network")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
# goss_package(COMPONENT NAME SECTION SUMMARY [DEPENDS...])
function(goss_package component name section summary)
  string(TOUPPER ${component} key)
  list(JOIN ARGN ", " depends)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  foreach(variable "PACKAGE_NAME;${name}" "PACKAGE_SECTION;${section}" "PACKAGE_DEPENDS;${depends}")
    list(POP_FRONT variable what)
    set(CPACK_DEBIAN_${key}_${what} "${variable}" PARENT_SCOPE)
  endforeach()
  set(CPACK_COMPONENT_${key}_DESCRIPTION "${summary}" PARENT_SCOPE)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} PARENT_SCOPE)
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/copyright DESTINATION ${documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION ${documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
configure_file(${PROJECT_SOURCE_DIR}/cmake/changelog.in ${PROJECT_BINARY_DIR}/changelog @ONLY)
execute_process(COMMAND gzip -9nkf ${PROJECT_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
set(same "(= ${PROJECT_VERSION})")
goss_package(runtime libgossamer0 libs "The library, and libnccl.so.2 over it in a folder of its own.")
goss_package(plugs libgossamer0-plugs libs "Transports over UCX and MPI, GPU buffers, and collectives of MPI programs." "libgossamer0 ${same}")
goss_package(development libgossamer-dev libdevel "Headers of the C interface, C++20 over it, and files for CMake and pkg-config." "libgossamer0 ${same}")
install(DIRECTORY ${examples} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libgossamer-dev/examples COMPONENT development EXCLUDE_FROM_ALL
        PATTERN CMakeLists.txt EXCLUDE)
if(TARGET gossamer_static) # what the archive is linked with
  goss_package(static libgossamer-static-dev libdevel "libgossamer.a." "libgossamer-dev ${same}" libfmt-dev libspdlog-dev libxxhash-dev
               libzstd-dev libisal-dev libhwloc-dev libpmix-dev libssl-dev "libstdc++-12-dev | libstdc++-dev")
endif()
goss_package(tools gossamer-tools utils "Benchmarks, planner, keys, and the reference trainer." "libgossamer0 ${same}")
# scripts/packages makes the pages from --help.
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools EXCLUDE_FROM_ALL OPTIONAL)
# Programs that are linked with the library depend on its package, and the linker's cache is renewed.
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs "libgossamer 0 libgossamer0 (>= ${PROJECT_VERSION})\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_DEBIAN_PLUGS_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
