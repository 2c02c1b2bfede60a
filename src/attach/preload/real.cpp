#include "attach/preload/real.hpp"

namespace plx::probe {

constinit real_functions real_table{};

// A lookup may allocate, and a program's own malloc may lock a mutex, which calls this function again: the functions
// for mutexes come first, so they are available by then. Concurrent lookups store equal values.
void find_real() noexcept {
  const auto find = [](const char* name, const char* version) -> void* {
    if (version != nullptr)
      if (void* exact = dlvsym(RTLD_NEXT, name, version)) return exact;
    return dlsym(RTLD_NEXT, name);
  };
#define PLX_FIND(name, version) \
  if (real_table.name == nullptr) real_table.name = reinterpret_cast<decltype(&::name)>(find(#name, version));
  PLX_REAL_FUNCTIONS(PLX_FIND)
#undef PLX_FIND
}

}  // namespace plx::probe
