#include "probe/monitor/shared_library.hpp"

#include <dlfcn.h>

#include "base/assert.hpp"

namespace plx::probe {

result<shared_library> shared_library::open(const std::vector<std::string>& names) {
  PLX_ASSERT(!names.empty());
  std::string first;
  for (const std::string& name : names) {
    // NODELETE: functions that the library registered for the end of threads and of the process must stay.
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return shared_library(handle);
    const char* why = dlerror();
    if (first.empty()) first = why != nullptr ? why : "cannot load '" + name + "'";
  }
  return error{first};
}

shared_library::~shared_library() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* shared_library::address(const char* name) const { return dlsym(handle_, name); }

}  // namespace plx::probe
