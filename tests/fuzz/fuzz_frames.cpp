// The fuzzer of frames, arguments and results, without a node around them. See CMakeLists.txt.
#include "messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::decode_message(data, size);
  return 0;
}
