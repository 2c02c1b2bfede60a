// The fuzzer of the rings between localities of a host. See CMakeLists.txt.
#include <cstdlib>

#include "rings.hpp"

// If FUZZ_SEEDS is set in the environment, initial inputs are written to that folder.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("FUZZ_SEEDS")) fuzz::write_rings_seeds(folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::play_rings(data, size);
  return 0;
}
