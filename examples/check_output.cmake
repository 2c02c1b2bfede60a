# Runs PROGRAM with ARGUMENTS, with the launcher command LAUNCH if set, and compares its output with the comment "// Output:" at the end
# of SOURCE.
file(READ ${SOURCE} text)
if(NOT text MATCHES "\n// Output:\n((//   [^\n]*\n)+)")
  message(FATAL_ERROR "${SOURCE}: expected a comment '// Output:' with indented lines at its end")
endif()
string(REGEX REPLACE "(^|\n)//   " "\\1" expected "${CMAKE_MATCH_1}")
separate_arguments(launch UNIX_COMMAND "${LAUNCH}")
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
execute_process(COMMAND ${launch} ${PROGRAM} ${ARGUMENTS} OUTPUT_VARIABLE found RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT found STREQUAL expected)
  message(FATAL_ERROR "exit status ${status}\nexpected:\n${expected}\nfound:\n${found}")
endif()
