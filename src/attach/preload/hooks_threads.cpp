// Creation, end and joins of threads, and the names of the functions that they run.
//
// Thread safety: all functions. Cost of a name: a lookup in symbol tables, which are read on first use of each file.
// Example: tests/exec/plx_exec_test.cpp
#include <errno.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "attach/core/program.hpp"
#include "attach/preload/own_threads.hpp"
#include "attach/preload/real.hpp"
#include "base/symbols.hpp"
#include "probe/record/names.hpp"

using namespace plx;
using namespace plx::probe;

namespace {

bool is_in_a_file(const void* address) { return !loaded_file(address).empty(); }

/// The mangled type of an object with virtual functions, by the Itanium ABI: its first word is the address of its
/// vtable, preceded by the address of the type_info, whose second word is the name. Null unless each of these lies in a
/// loaded file.
const char* type_of(const void* object) {
  const void* const* table = *static_cast<const void* const* const*>(object);
  if (!is_in_a_file(table) || !is_in_a_file(table - 1)) return nullptr;
  const auto* type = static_cast<const void* const*>(table[-1]);
  if (!is_in_a_file(type)) return nullptr;
  const auto* name = static_cast<const char*>(type[1]);
  if (!is_in_a_file(name)) return nullptr;
  return *name == '*' ? name + 1 : name;  // for a type with internal linkage
}

/// The first member of the tuple in "...std::tuple<void (*)(int), int> > >".
std::string_view first_of_tuple(std::string_view text) {
  constexpr std::string_view begin = "std::tuple<";
  const std::size_t at = text.find(begin);
  if (at == text.npos) return {};
  text.remove_prefix(at + begin.size());
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (depth == 0 && (c == ',' || c == '>')) return text.substr(0, i);
    if (c == '>' || c == ')' || c == '}') --depth;
  }
  return text;
}

/// libstdc++ stores the members of a tuple in reverse order: the function is the last word that is a code address.
std::string function_in(const void* object) {
  const auto first = reinterpret_cast<std::uintptr_t>(object);
  const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  constexpr std::uintptr_t word = sizeof(void*);
  for (std::uintptr_t i = 6; i >= 1; --i) {
    const std::uintptr_t at = first + i * word;
    if (at / page != first / page) continue;  // may be unmapped
    const void* candidate = nullptr;
    std::memcpy(&candidate, reinterpret_cast<const void*>(at), word);
    if (is_in_a_file(candidate))
      if (std::string name = function_name(candidate); !name.empty()) return name;
  }
  return {};
}

std::string name_in_std_thread(const void* state) {
  const char* type = type_of(state);
  if (type == nullptr || std::strncmp(type, "NSt6thread", 10) != 0) return {};
  const std::string text = demangled((std::string("_ZTS") + type).c_str());  // "typeinfo name for std::thread::..."
  const std::string_view callable = first_of_tuple(text);
  if (callable.find("(*)(") != callable.npos || callable.find("::*)(") != callable.npos)
    if (std::string name = function_in(state); !name.empty()) return name;
  return std::string(callable);
}

bool is_of_libstdcxx(const void* routine) {
  if (loaded_file(routine).find("libstdc++") != std::string::npos) return true;
  return function_name(routine) == "execute_native_thread_routine";
}

/// The function that a thread of pthread_create(routine, argument) executes: for a std::thread of libstdc++ its
/// callable, otherwise the routine.
name_id thread_function(void* (*routine)(void*), void* argument) {
  const auto* code = reinterpret_cast<const void*>(routine);
  if (argument != nullptr && is_of_libstdcxx(code))
    if (const std::string name = name_in_std_thread(argument); !name.empty()) return register_name(readable_name(name));
  // Not by register_function_name(): it remembers addresses, and another library may be loaded where one was unloaded.
  if (const std::string name = function_name(code); !name.empty()) return register_name(readable_name(name));
  const std::string file = loaded_file(code);
  return register_name(file.empty() ? "function without a symbol" : "function of " + file.substr(file.rfind('/') + 1));
}

// --------------------------------------------------------------------------------------------------------------- hooks

struct beginning {
  void* (*routine)(void*);
  void* argument;
  name_id name;
  bool ours;
  task_id made_by;
  plx::ticks made;
};

void* run_thread(void* given) {
  const beginning b = *static_cast<beginning*>(given);
  {
    const inside_scope inside;
    delete static_cast<beginning*>(given);
  }
  if (b.ours) {
    ++this_slot.inside;  // for its whole lifetime
    const own_thread mine;
    return b.routine(b.argument);
  }
  program::attach(b.name, b.made_by, b.made);
  return b.routine(b.argument);
}

int create(pthread_t* thread, const pthread_attr_t* attributes, beginning* b) {
  const int failed = real().pthread_create(thread, attributes, &run_thread, b);
  if (failed != 0) {
    const inside_scope inside;
    delete b;
  }
  return failed;
}

}  // namespace

PLX_HOOK int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                            void* argument) noexcept {
  const bool ours = this_slot.inside != 0;
  if (!ours && !program::measures()) return real().pthread_create(thread, attributes, routine, argument);
  const int before = errno;
  beginning* b = nullptr;
  task_id made_by = 0;
  program::event([&](thread_row& row, plx::ticks) { return made_by = row.current(), true; });
  {
    const inside_scope inside;
    b = new (std::nothrow) beginning{routine, argument, ours ? unnamed : thread_function(routine, argument),
                                     ours,    made_by,  plx::now_ticks()};
  }
  errno = before;
  if (b == nullptr) return real().pthread_create(thread, attributes, routine, argument);
  if (!ours) return create(thread, attributes, b);
  sigset_t all, mask;  // the program's signals are handled by its own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  const int failed = create(thread, attributes, b);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return failed;
}

// Threads are short-lived, so a join is identified by the waiting code, not by the thread.
PLX_HOOK int pthread_join(pthread_t thread, void** value) {
  const int ended = real().pthread_tryjoin_np(thread, value);
  if (ended != EBUSY) return ended;
  const wait_scope waits("thread", __builtin_return_address(0));
  return real().pthread_join(thread, value);
}

PLX_HOOK int pthread_timedjoin_np(pthread_t thread, void** value, const timespec* until) {
  const wait_scope waits("thread", __builtin_return_address(0));
  return real().pthread_timedjoin_np(thread, value, until);
}

PLX_HOOK int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock, const timespec* until) {
  const wait_scope waits("thread", __builtin_return_address(0));
  return real().pthread_clockjoin_np(thread, value, clock, until);
}
