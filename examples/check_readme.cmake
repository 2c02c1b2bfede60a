# Checks that the README contains the code of SOURCE verbatim, without the surrounding comments.
file(READ ${SOURCE} code)
string(REGEX REPLACE "^//[^\n]*\n" "" code "${code}")
string(REGEX REPLACE "\n// Output:.*$" "" code "${code}")
file(READ ${README} text)
string(FIND "${text}" "${code}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "${README}: expected the code of ${SOURCE}, word for word:\n${code}")
endif()
