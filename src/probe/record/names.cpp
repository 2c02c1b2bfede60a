#include "probe/record/names.hpp"

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/symbols.hpp"

namespace plx::probe {
namespace {

struct name_table {
  std::mutex mutex;
  std::deque<std::string> names{"unnamed"};  // a deque never moves its elements: views stay valid
  std::unordered_map<std::string_view, name_id> ids{{names.front(), unnamed}, {"", unnamed}};
};

std::atomic<std::uint64_t> dropped{0};

/// Never destroyed: static objects of other files may still write results while the process exits.
[[gnu::used]] name_table* all_names = nullptr;  // for tools/gdb/plx_gdb.py
name_table& table() {
  static name_table& t = *(all_names = new name_table);
  return t;
}

}  // namespace

name_id register_name(std::string_view name) {
  name_table& t = table();
  const std::lock_guard lock(t.mutex);
  if (const auto known = t.ids.find(name); known != t.ids.end()) return known->second;
  if (t.names.size() >= max_names) return dropped.fetch_add(1, std::memory_order_relaxed), unnamed;
  const auto id = static_cast<name_id>(t.names.size());
  t.ids.emplace(t.names.emplace_back(name), id);
  return id;
}

std::uint64_t names_dropped() noexcept { return dropped.load(std::memory_order_relaxed); }

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

std::string_view name_of_at_once(name_id id) noexcept {
  name_table& t = table();
  const std::unique_lock lock(t.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return "(unknown)";
  return t.names[id < t.names.size() ? id : unnamed];
}

name_id register_type_name(const std::type_info& type) { return register_name(readable_name(demangled(type.name()))); }

// Recently used addresses, each in one word with its id: names are looked up for every task that runs a plain function.
name_id register_function_name(const void* function) {
  static_assert(max_names <= 1u << 16);
  static std::atomic<std::uint64_t> known[256];
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  auto& place = known[(address >> 4) % std::size(known)];
  const std::uint64_t seen = place.load(std::memory_order_relaxed);  // one word: nothing else to order
  if (seen >> 16 == address && seen != 0) return static_cast<name_id>(seen & 0xffffu);
  std::string text = readable_name(function_name(function));
  const name_id id = register_name(text.empty() ? "function without a symbol" : text);
  if (address >> 48 == 0) place.store(address << 16 | id, std::memory_order_relaxed);
  return id;
}

namespace {

// The position after the bracket that matches the one at `open`.
std::size_t after_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '{') ++depth;
    if ((text[i] == ')' || text[i] == '}') && --depth == 0) return i + 1;
  }
  return text.size();
}

std::size_t digits_at(std::string_view text, std::size_t i) {
  std::size_t n = 0;
  while (i + n < text.size() && text[i + n] >= '0' && text[i + n] <= '9') ++n;
  return n;
}

std::string counted_lambda(std::string_view zero_based) {
  unsigned long n = 0;
  for (const char c : zero_based) n = n * 10 + static_cast<unsigned long>(c - '0');
  return "lambda#" + std::to_string(n + 1);
}

}  // namespace

std::string readable_name(std::string_view text) {
  constexpr std::string_view anonymous = "(anonymous namespace)::", lambda = "{lambda(", call = "::operator()(",
                             clang_lambda = "'lambda",
                             string = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with(anonymous)) {
      i += anonymous.size();
    } else if (rest.starts_with(string)) {
      out += "std::string";
      i += string.size();
    } else if (rest.starts_with(lambda)) {  // "{lambda(int)#1}"
      const std::size_t end = after_bracket(text, i);
      const std::size_t number = text.substr(0, end).rfind('#');
      out += "lambda";
      if (number != text.npos && number > i && end > number + 1) out += text.substr(number, end - 1 - number);
      i = end;
    } else if (rest.starts_with(clang_lambda)) {  // "'lambda0'(int)"
      const std::size_t digits = digits_at(text, i + clang_lambda.size());
      out +=
          digits == 0
              ? "lambda#1"
              : "lambda#" + std::to_string(std::stoul(std::string(text.substr(i + clang_lambda.size(), digits))) + 2);
      i += clang_lambda.size() + digits + 1;
      if (i < text.size() && text[i] == '(') i = after_bracket(text, i);
    } else if (rest.starts_with("$_")) {
      const std::size_t digits = digits_at(text, i + 2);
      out += counted_lambda(text.substr(i + 2, digits));
      i += 2 + digits;
    } else if (rest.starts_with(call) && (out.ends_with(')') || out.find("lambda#") != out.npos)) {
      i = after_bracket(text, i + call.size() - 1);  // of a lambda inside this lambda
      if (text.substr(i).starts_with(" const")) i += 6;
    } else {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace plx::probe
