#include "net/core/action_entry.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "probe/record/names.hpp"

namespace plx::net {
namespace {

action_entry* first_entry = nullptr;  // before main() there is one thread

// One action in a description: its layout, and the place of its code where several actions share its name.
struct described {
  std::string_view layout, place;
};

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

// Several functions may share a name and a type: static ones, or those in unnamed namespaces of several files. Only the
// place of their code distinguishes them; it is the same in all processes that run the same build.
struct code_place {
  std::string file;  // the program or one of its libraries
  std::uintptr_t offset = 0;
  friend auto operator<=>(const code_place&, const code_place&) = default;
};
code_place place_of(const action_entry& e) {
  const auto at = reinterpret_cast<std::uintptr_t>(e.decode);
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(e.decode), &info) == 0) return {"", at};
  const std::string_view path = info.dli_fname != nullptr ? info.dli_fname : "";
  return {std::string(path.substr(path.rfind('/') + 1)), at - reinterpret_cast<std::uintptr_t>(info.dli_fbase)};
}

std::vector<const action_entry*> sorted_actions() {
  std::vector<action_entry*> all;
  for (action_entry* e = first_entry; e != nullptr; e = e->next) all.push_back(e);
  std::sort(all.begin(), all.end(), [](const action_entry* a, const action_entry* b) {
    return a->id != b->id ? a->id < b->id : a != b && place_of(*a) < place_of(*b);
  });
  for (std::size_t i = 1; i < all.size(); ++i)
    PLX_ASSERT((all[i - 1]->id != all[i]->id || all[i - 1]->signature == all[i]->signature) &&
                   "the names of two actions have the same hash: rename one of them",
               all[i - 1]->signature, all[i]->signature);
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

std::map<std::string_view, described> by_signature(std::string_view description) {
  std::map<std::string_view, described> lines;
  while (!description.empty()) {
    const std::size_t end = std::min(description.find('\n'), description.size());
    const std::string_view line = description.substr(0, end);
    const std::size_t tab = line.find('\t');
    const std::string_view rest = tab == std::string_view::npos ? "" : line.substr(tab + 1);
    const std::size_t second = rest.find('\t');
    lines.emplace(line.substr(0, tab),
                  described{rest.substr(0, second), second == std::string_view::npos ? "" : rest.substr(second + 1)});
    description.remove_prefix(std::min(end + 1, description.size()));
  }
  return lines;
}

}  // namespace

void add_action(action_entry& e) noexcept {
  e.id = fnv1a(e.signature);
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
  const auto all = all_actions();
  unsigned number = 1;  // among the actions with the same name and type
  for (std::size_t i = 1; i < all.size(); ++i) {
    const action_entry& e = *all[i];
    number = e.id == (i > 1 ? all[i - 1]->id : 0) ? number + 1 : 1;
    const bool alone = number == 1 && (i + 1 == all.size() || all[i + 1]->id != e.id);
    if (alone) {
      text += fmt::format("{}\t{}\n", e.signature, e.layout);
    } else {
      const code_place p = place_of(e);
      text += fmt::format("{} #{}\t{}\t{}+{:#x}\n", e.signature, number, e.layout, p.file, p.offset);
    }
  }
  return text;
}

std::string difference_of_actions(std::string_view here, std::string_view there) {
  const auto a = by_signature(here), b = by_signature(there);
  for (const auto& [signature, is] : a) {
    const auto found = b.find(signature);
    if (found == b.end()) return fmt::format("the action {} is missing there", function_in(signature));
    if (found->second.layout != is.layout)
      return fmt::format("the action {} has arguments of {} bytes here, {} there", function_in(signature), is.layout,
                         found->second.layout);
    if (found->second.place != is.place)
      return fmt::format(
          "several actions are called {}; one of them is at {} here, at {} there: run the same build everywhere, or "
          "give them different names",
          function_in(signature), is.place, found->second.place);
  }
  for (const auto& [signature, is] : b)
    if (!a.contains(signature)) return fmt::format("the action {} is missing here", function_in(signature));
  return "";
}

}  // namespace plx::net
