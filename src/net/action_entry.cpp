#include "net/action_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "base/assert.hpp"
#include "probe/names.hpp"

namespace plx::net {
namespace {

action_entry* first_entry = nullptr;  // before main() there is one thread

// "plx::net::(anonymous namespace)::f" of a text such as "... [with auto F = f; ...]".
std::string_view function_in(std::string_view signature) {
  const std::size_t begin = signature.rfind("F = ");
  if (begin == std::string_view::npos) return signature;
  signature.remove_prefix(begin + 4);
  const std::size_t end = signature.find_first_of(";]");
  signature = signature.substr(0, end);
  if (signature.starts_with('&')) signature.remove_prefix(1);
  return signature;
}

std::vector<const action_entry*> sorted_actions() {
  std::vector<action_entry*> all;
  for (action_entry* e = first_entry; e != nullptr; e = e->next) all.push_back(e);
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->id < b->id; });
  for (std::size_t i = 1; i < all.size(); ++i)
    PLX_ASSERT(all[i - 1]->id != all[i]->id && "two actions have the same name: give one of them another",
               all[i]->signature);
  PLX_ASSERT(all.size() < 65535 && "a program may have 65534 actions");
  std::vector<const action_entry*> table = {nullptr};
  std::map<std::string_view, unsigned> of_that_name;  // functions may be overloaded
  for (action_entry* e : all) {
    e->index = static_cast<std::uint16_t>(table.size());
    const std::string_view name = function_in(e->signature);
    const unsigned n = ++of_that_name[name];
    e->name = probe::register_name(n == 1 ? std::string(name) : fmt::format("{}#{}", name, n));
    table.push_back(e);
  }
  return table;
}

std::map<std::string_view, std::string_view> by_signature(std::string_view description) {
  std::map<std::string_view, std::string_view> lines;
  while (!description.empty()) {
    const std::size_t end = std::min(description.find('\n'), description.size());
    const std::string_view line = description.substr(0, end);
    const std::size_t tab = line.find('\t');
    lines.emplace(line.substr(0, tab), tab == std::string_view::npos ? "" : line.substr(tab + 1));
    description.remove_prefix(std::min(end + 1, description.size()));
  }
  return lines;
}

}  // namespace

void add_action(action_entry& e) noexcept {
  e.id = hash_of(e.signature);
  e.next = first_entry;
  first_entry = &e;
}

std::span<const action_entry* const> all_actions() {
  static const std::vector<const action_entry*> table = sorted_actions();
  return table;
}

std::string_view function_of(const action_entry& e) { return probe::name_of(e.name); }

std::string describe_actions() {
  std::string text;
  for (const action_entry* e : all_actions())
    if (e != nullptr) text += fmt::format("{}\t{}\n", e->signature, e->layout);
  return text;
}

std::string difference_of_actions(std::string_view here, std::string_view there) {
  const auto a = by_signature(here), b = by_signature(there);
  for (const auto& [signature, layout] : a) {
    const auto found = b.find(signature);
    if (found == b.end()) return fmt::format("the action {} is missing there", function_in(signature));
    if (found->second != layout)
      return fmt::format("the action {} has arguments of {} bytes here, {} there", function_in(signature), layout,
                         found->second);
  }
  for (const auto& [signature, layout] : b)
    if (!a.contains(signature)) return fmt::format("the action {} is missing here", function_in(signature));
  return "";
}

}  // namespace plx::net
