# Run in a build folder: removes the files that "cmake --install" put somewhere last (install_manifest.txt lists them), and folders of
# Gossamer's own that this leaves empty. DESTDIR is heeded as there. What was installed by component is left to whoever did that.
if(NOT EXISTS install_manifest.txt)
  message(FATAL_ERROR "no install_manifest.txt here: nothing was installed from this build folder")
endif()
file(STRINGS install_manifest.txt files)
foreach(file IN LISTS files)
  set(file "$ENV{DESTDIR}${file}")
  file(REMOVE "${file}")
  cmake_path(GET file PARENT_PATH folder)
  while(folder MATCHES "/(include|lib|[a-z0-9_]+-linux-[a-z]+|cmake|doc)/[Gg]ossamer(/[a-zA-Z0-9_]+)*$")
    execute_process(COMMAND rmdir -- "${folder}" RESULT_VARIABLE kept OUTPUT_QUIET ERROR_QUIET) # fails where there is something in it
    if(kept)
      break()
    endif()
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endforeach()
file(REMOVE install_manifest.txt)
