// The fuzzer of collective messages in shared memory. See CMakeLists.txt.
#include <cstdlib>

#include "shm.hpp"

// If FUZZ_SEEDS is set in the environment, initial inputs are written to that folder.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("FUZZ_SEEDS")) fuzz::write_shm_seeds(folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::shm_target target;
  target.take(data, size);
  return 0;
}
