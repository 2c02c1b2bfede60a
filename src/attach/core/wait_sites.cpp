#include "attach/core/wait_sites.hpp"

#include <execinfo.h>
#include <sys/mman.h>

#include <new>
#include <string>
#include <string_view>

#include "base/symbols.hpp"
#include "probe/record/names.hpp"
#include "probe/record/wait_log.hpp"

namespace plx::probe {
namespace {

/// Functions that do not identify the waiting code: between the program and the system, or our own.
bool is_plumbing(std::string_view name) {
  for (const std::string_view type : {"void ", "bool "})  // names of templates include their return types
    if (name.starts_with(type)) name.remove_prefix(type.size());
  for (const std::string_view p : {"std::", "__gnu_cxx::", "__gthread", "__", "pthread_", "plx_probe_", "plx::probe::"})
    if (name.starts_with(p)) return true;
  return name.empty();
}

/// The name of the file that contains an address, without its folders; "" if there is none.
std::string file_of(const void* address) {
  const std::string path = loaded_file(address);
  return path.substr(path.rfind('/') + 1);
}

/// The lambda that a function of the standard library calls: "main::{lambda()#1}" in
/// "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}> > >::_M_run()". "" without one, and
/// for functions that wait until a lambda returns true.
std::string lambda_in(std::string_view function) {
  const std::size_t lambda = function.find("{lambda(");
  const bool calls = function.find("invoke") != function.npos || function.find("::_M_run") != function.npos;
  if (lambda == function.npos || !calls) return {};
  std::size_t begin = lambda, end = lambda;
  for (int depth = 0; begin > 0; --begin) {
    const char c = function[begin - 1];
    if (c == ')' || c == '>' || c == '}') ++depth;
    if (depth == 0 && (c == '<' || c == '(' || c == ',' || c == ' ')) break;
    if (c == '(' || c == '<' || c == '{') --depth;
  }
  for (int depth = 0; end < function.size(); ++end) {
    const char c = function[end];
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) break;
  }
  return std::string(function.substr(begin, end + 1 - begin));
}

bool is_of_the_system(std::string_view file) {
  for (const std::string_view library : {"libstdc++.", "libc++", "libc.", "libpthread", "ld-linux", "libgcc_s"})
    if (file.starts_with(library)) return true;
  return false;
}

/// Maps the outlined function "f._omp_fn.0" to f.
std::string whole_function(const std::string& name) { return readable_name(name.substr(0, name.find("._omp_fn."))); }

/// The name of an object that is a code address: a return address, or the second byte of a function.
std::string name_of_code(const void* object) {
  const std::string function = function_name(static_cast<const char*>(object) - 1);
  return is_plumbing(function) ? std::string() : "in " + whole_function(function);
}

/// The innermost function of the program; for a stripped library its name. If the compiler inlined the program's
/// function into a standard library function, the lambda in its name, or that function.
std::string name_by_frames(const std::atomic<void*>* frames, int n) {
  std::string lambda, outside;
  for (int i = 0; i < n; ++i) {
    const auto* returned_to = static_cast<const char*>(frames[i].load(std::memory_order_relaxed));
    if (returned_to == nullptr) break;
    const std::string file = file_of(returned_to - 1);
    if (file.starts_with("libplx-")) continue;  // all of its functions are internal
    const std::string function = function_name(returned_to - 1);
    if (function.empty() && is_of_the_system(file)) continue;
    if (!lambda.empty()) break;  // the enclosing function called the lambda
    if (function.empty() && !file.empty()) return "in " + file;
    if (!is_plumbing(function)) return "in " + whole_function(function);
    lambda = lambda_in(function);
    if (outside.empty() && !function.starts_with("plx")) outside = function;
  }
  if (!lambda.empty()) return "in " + readable_name(lambda);
  return outside.empty() ? std::string() : "in " + outside;
}

constexpr unsigned first_waits = 8, one_in = 16;  // short waits for which a call stack is taken

bool is_long(ticks waited) {
  static const ticks least = ticks_from(20e-6);  // some call stacks
  return waited >= least;
}

}  // namespace

wait_sites::wait_sites() {
  void* pages = mmap(nullptr, n_cells * sizeof(cell), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  cells_ = static_cast<cell*>(pages);  // zeroes are free cells
  void* none[1];
  backtrace(none, 1);  // the first call may load a library, which must not happen during a wait
}

wait_sites::~wait_sites() { munmap(static_cast<void*>(cells_), n_cells * sizeof(cell)); }

const void* wait_sites::find(const void* object, const void* caller, const void* first_frame) noexcept {
  void* frames[25];
  const int n = 1 + backtrace(frames + 1, 24);
  int first = 1;
  while (first < n && frames[first] != caller) ++first;
  if (first == n) first = 1;
  if (first_frame != nullptr) frames[--first] = const_cast<void*>(first_frame);
  std::uint64_t key = reinterpret_cast<std::uintptr_t>(object);
  for (int f = first; f < n && f < first + n_identifying; ++f)
    key = (key ^ reinterpret_cast<std::uintptr_t>(frames[f])) * 0x9e3779b97f4a7c15ull + 1;
  key |= 1;
  const std::size_t begin = key >> 40;
  for (std::size_t i = begin; i < begin + longest_search; ++i) {
    cell& c = cells_[i % n_cells];
    std::uint64_t there = c.key.load(std::memory_order_relaxed);
    if (there == key) return &c;
    if (there == 0 && c.key.compare_exchange_strong(there, key, std::memory_order_relaxed)) {
      for (int f = 0; f < n_frames && first + f < n; ++f)
        c.frames[f].store(frames[first + f], std::memory_order_relaxed);
      c.object.store(object, std::memory_order_release);  // pairs with the acquires below
      return &c;
    }
    if (there == key) return &c;
  }
  return object;
}

const void* wait_sites::before(recent_sites& recent, const void* object, const void* caller) noexcept {
  const recent_sites::entry& e = recent.of(object, caller);
  const bool known = e.object == object && e.caller == caller && e.waits >= first_waits;
  if (known && !e.long_ones && e.waits % one_in != 0) return nullptr;
  return find(object, caller);
}

const void* wait_sites::after(recent_sites& recent, const void* object, const void* caller, const void* site,
                              ticks waited) noexcept {
  recent_sites::entry& e = recent.of(object, caller);
  const bool known = e.object == object && e.caller == caller;
  if (site == nullptr) site = known && !is_long(waited) ? e.site : find(object, caller);
  e = {object, caller, site, known ? e.waits + 1 : 1, is_long(waited)};
  return site;
}

const void* wait_sites::of_hold(recent_sites& recent, const void* object, const void* taken_in, const void* caller,
                                ticks held) noexcept {
  recent_sites::entry& e = recent.of(object, taken_in);
  const bool known = e.object == object && e.caller == taken_in;
  constexpr unsigned one_hold_in = 512;  // a thread that waits for a release may see a million short ones
  const bool same = known && !is_long(held) && e.waits >= first_waits && e.waits % one_hold_in != 0;
  const void* site = same ? e.site : find(object, caller, taken_in);
  e = {object, taken_in, site, known ? e.waits + 1 : 1, is_long(held)};
  return site;
}

bool wait_sites::is_between(std::string_view function) { return is_plumbing(function); }

wait_sites::code wait_sites::code_of(const void* site) const {
  const auto* c = static_cast<const cell*>(site);
  code found;
  if (c < cells_ || c >= cells_ + n_cells) return found;
  for (const auto& frame : c->frames) {
    const auto* returned_to = static_cast<const char*>(frame.load(std::memory_order_relaxed));
    if (returned_to == nullptr) break;
    if (file_of(returned_to - 1).starts_with("libplx-")) continue;
    const bool between = is_plumbing(function_name(returned_to - 1));
    if (found.address == nullptr || !between) found.address = returned_to - 1;
    if (!between) break;
  }
  const std::string name = name_by_frames(c->frames, n_frames);
  found.function = readable_name(name.starts_with("in ") ? name.substr(3) : name);
  return found;
}

void wait_sites::name_all() {
  for (std::size_t i = 0; i < n_cells; ++i) {
    const cell& c = cells_[i];
    const void* object = c.object.load(std::memory_order_acquire);
    if (object == nullptr || object_name(&c) != unnamed) continue;
    const name_id own = object_name(object);
    std::string name = own != unnamed ? std::string(name_of(own)) : variable_name(object);
    if (name.empty()) name = name_of_code(object);
    if (name.empty()) name = name_by_frames(c.frames, n_frames);
    if (!name.empty()) name_object(&c, readable_name(name));
  }
}

const void* wait_sites::object_of(const void* site) const noexcept {
  const auto* c = static_cast<const cell*>(site);
  return c >= cells_ && c < cells_ + n_cells ? c->object.load(std::memory_order_acquire) : site;
}

}  // namespace plx::probe
