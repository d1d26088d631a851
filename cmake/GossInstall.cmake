# cmake --install: headers, libgossamer.so.0, programs, and what CMake and pkg-config need to find them.
include(CMakePackageConfigHelpers)

# The C ABI, and gossamer.hpp over it: the other C++ headers declare what no program can use, because the library exports nothing of it.
set(abi_headers abi.h compression.h gossamer.h gossip.h gossamer_mpi.h links.h pipeline.h sync.h window.h)
list(TRANSFORM abi_headers PREPEND ${CMAKE_SOURCE_DIR}/include/gossamer/)
install(FILES ${abi_headers} ${CMAKE_SOURCE_DIR}/include/gossamer/gossamer.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gossamer)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/gossamer/cpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gossamer)
foreach(program goss-bench goss-explain goss-pipeline-bench goss-tune goss-train goss-wanem goss-keys)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    # An installed program finds the library that was installed with it, wherever the prefix is.
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  endif()
endforeach()

if(TARGET goss_train_aten)
  install(TARGETS goss_train_aten LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

if(TARGET gossamer)
  set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Gossamer)
  install(TARGETS gossamer EXPORT GossamerTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  get_property(plugs GLOBAL PROPERTY GOSS_PLUGS)
  if(plugs)
    install(TARGETS ${plugs} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  if(TARGET goss_mpi_interposer)
    install(TARGETS goss_mpi_interposer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  install(EXPORT GossamerTargets NAMESPACE Gossamer:: DESTINATION ${cmake_dir})
  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/GossamerConfig.cmake.in ${CMAKE_BINARY_DIR}/GossamerConfig.cmake
                                INSTALL_DESTINATION ${cmake_dir})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/GossamerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/GossamerConfig.cmake ${CMAKE_BINARY_DIR}/GossamerConfigVersion.cmake
          DESTINATION ${cmake_dir})
  file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/gossamer.pc.in ${CMAKE_BINARY_DIR}/gossamer.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/gossamer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
