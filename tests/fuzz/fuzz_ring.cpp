// The fuzzer of a ring of collective messages, without a node around it. See CMakeLists.txt.
#include "shm.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::play_ring(data, size);
  return 0;
}
