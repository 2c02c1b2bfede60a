// The fuzzer of letters in shared memory. See CMakeLists.txt.
#include <cstdlib>

#include "letters.hpp"

// FUZZ_SEEDS in the environment names a folder for inputs to begin with.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("FUZZ_SEEDS")) fuzz::write_letter_seeds(folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::letter_target target;
  target.take(data, size);
  return 0;
}
