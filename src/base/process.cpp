#include "base/process.hpp"

#include <unistd.h>

namespace plx {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "unknown";
}

no_signals::no_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

no_signals::~no_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace plx
