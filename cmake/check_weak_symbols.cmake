# Fails if an object of the kernels defines symbols that the linker may share with other objects (weak ones): it could
# keep the copy compiled for a wider instruction set and run it on a machine that lacks it.
# cmake -DNM=nm "-DOBJECTS=a.o|b.o" -DPATTERN=names -P check_weak_symbols.cmake
string(REPLACE "|" ";" OBJECTS "${OBJECTS}")
list(FILTER OBJECTS INCLUDE REGEX "(${PATTERN})\\.cpp")
list(LENGTH OBJECTS count)
if(count EQUAL 0)
  message(FATAL_ERROR "no objects of the kernels were given")
endif()
foreach(object ${OBJECTS})
  execute_process(COMMAND ${NM} -C ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [WVuwv] [^\n]*" weak "${symbols}")
  if(weak)
    string(REPLACE ";" "\n" weak "${weak}")
    message(FATAL_ERROR "${object} defines symbols that the linker may share:\n${weak}")
  endif()
endforeach()
message(STATUS "${count} objects of the kernels define no weak symbols")
