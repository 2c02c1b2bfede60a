#include "gpu/foreign_work.hpp"

#include <map>
#include <mutex>
#include <string>

#include "gpu/detail/device_core.hpp"

namespace plx::gpu {

const any_operation& named_operation(std::string_view name) {
  static std::mutex lock;
  static auto& all = *new std::map<std::string, any_operation, std::less<>>;
  const std::lock_guard guard(lock);
  auto found = all.find(name);
  if (found == all.end()) {
    found = all.try_emplace(std::string(name)).first;
    found->second.name = found->first.c_str();
  }
  return found->second;
}

plx::future<void> detail::async_put(stream& s, const any_operation& as, void (*put)(void*), void* arg) {
  auto* c = plx::detail::make_state<future_completion>();
  auto result = plx::detail::adopt_state<void>(c);
  stream_core& core = s.core();
  device_core& home = core.home;
  bool added = false;
  try {
    const plx::detail::spin_guard guard(core.put_lock);
    home.check(core);
    home.check_future(core);
    const ticks begin = now_ticks();
    core.last_operation = &as;
    timed t(home.timeline(), core);
    put(arg);
    t.kernel(as, 1);
    core.tallies.launches.add();
    core.tallies.items.add();
    core.tallies.launch_ticks.add(now_ticks() - begin);
    added = home.add(core, *c, home.options.way);
  } catch (...) {
    c->failed = std::current_exception();
  }
  if (!added) c->finish(*c);
  return result;
}

}  // namespace plx::gpu
