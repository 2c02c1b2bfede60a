#include "net/names.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "rt/core/spinlock.hpp"

namespace plx {
namespace net {
namespace {

using plx::detail::spin_guard;

// The names whose hash selects this locality.
class name_table final : public service {
 public:
  explicit name_table(node& n) { n.get<agas>(); }  // must outlive this service

  bool set(const std::string& name, const handle& h) {
    std::vector<promise<handle>> waiting;
    {
      const spin_guard guard(lock_);
      if (!names_.emplace(name, h).second) return false;
      if (auto w = waiting_.extract(name)) waiting = std::move(w.mapped());
    }
    for (auto& p : waiting) p.set_value(h);
    return true;
  }
  future<handle> get(const std::string& name, if_absent then) {
    promise<handle> p;
    auto result = p.get_future();
    handle found;
    {
      const spin_guard guard(lock_);
      const auto at = names_.find(name);
      if (at == names_.end() && then == if_absent::wait)
        return waiting_[name].push_back(std::move(p)), std::move(result);
      if (at != names_.end()) found = at->second;
    }
    p.set_value(std::move(found));
    return result;
  }
  bool erase(const std::string& name) {
    handle gone;  // destroyed after the lock is released
    const spin_guard guard(lock_);
    const auto at = names_.find(name);
    if (at == names_.end()) return false;
    gone = std::move(at->second);
    names_.erase(at);
    return true;
  }
  std::vector<std::string> list(const std::string& prefix) {
    std::vector<std::string> all;
    const spin_guard guard(lock_);
    for (auto at = names_.lower_bound(prefix); at != names_.end() && at->first.starts_with(prefix); ++at)
      all.push_back(at->first);
    return all;
  }

 private:
  plx::detail::spinlock lock_;
  std::map<std::string, handle> names_;
  std::map<std::string, std::vector<promise<handle>>> waiting_;
};

locality_id place_of(const std::string& name) {
  return static_cast<locality_id>(fnv1a(name) % node_here().first_spare());
}
name_table& table() { return node_here().get<name_table>(); }

}  // namespace

namespace detail {
bool names_set(const std::string& name, const handle& h) { return h && table().set(name, h); }
future<handle> names_get(const std::string& name, if_absent then) { return table().get(name, then); }
bool names_erase(const std::string& name) { return table().erase(name); }
std::vector<std::string> names_list(const std::string& prefix) { return table().list(prefix); }

future<handle> find_name(const std::string& name, if_absent then) {
  return async<&names_get>(place_of(name), name, then);
}
}  // namespace detail
}  // namespace net

future<bool> register_as(const std::string& name, const net::handle& object) {
  static_cast<void>(net::detail::reference_of(object));
  return async<&net::detail::names_set>(net::place_of(name), name, object);
}
future<bool> unregister(const std::string& name) { return async<&net::detail::names_erase>(net::place_of(name), name); }

std::vector<std::string> names_with(const std::string& prefix) {
  std::vector<future<std::vector<std::string>>> parts;
  for (const locality_id i : find_all_localities()) parts.push_back(async<&net::detail::names_list>(i, prefix));
  std::vector<std::string> all;
  for (auto& p : parts) {
    try {
      for (auto& name : p.get()) all.push_back(std::move(name));
    } catch (const locality_lost&) {  // so are its names
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace plx
