#include "probe/names.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace plx::probe {
namespace {

struct name_table {
  std::mutex mutex;
  std::deque<std::string> names{"unnamed"};  // a deque never moves its elements: views stay valid
  std::unordered_map<std::string_view, name_id> ids{{names.front(), unnamed}, {"", unnamed}};
};

/// Never destroyed: static objects of other files may still write results while the process ends.
name_table& table() {
  static name_table& t = *new name_table;
  return t;
}

}  // namespace

name_id register_name(std::string_view name) {
  name_table& t = table();
  const std::lock_guard lock(t.mutex);
  if (const auto known = t.ids.find(name); known != t.ids.end()) return known->second;
  if (t.names.size() >= max_names) return unnamed;
  const auto id = static_cast<name_id>(t.names.size());
  t.ids.emplace(t.names.emplace_back(name), id);
  return id;
}

std::string_view name_of(name_id id) {
  name_table& t = table();
  const std::lock_guard lock(t.mutex);
  return t.names[id < t.names.size() ? id : unnamed];
}

name_id name_count() {
  name_table& t = table();
  const std::lock_guard lock(t.mutex);
  return static_cast<name_id>(t.names.size());
}

name_id register_type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                         &std::free);
  return register_name(status == 0 ? text.get() : type.name());
}

}  // namespace plx::probe
