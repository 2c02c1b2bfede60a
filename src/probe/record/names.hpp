// Names of tasks, interned once per process: the hot path carries a 32-bit id, never a string.
//
// Thread safety: all functions are thread-safe. Cost: register_name() takes a lock and may allocate, so a call site
// keeps the id in a static variable; name_of() takes a lock (used when results are written). Example:
// probe/record/test/names_test.cpp
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

namespace plx::probe {

/// The id of a name.
using name_id = std::uint32_t;

/// The id of tasks without a name.
inline constexpr name_id unnamed = 0;

/// The key of a task that is not associated with an object.
inline constexpr std::uint64_t no_key = ~0ull;

/// The upper bound of ids; names registered beyond it become `unnamed`.
inline constexpr name_id max_names = 1u << 14;

/// The id of a name; the same text has the same id for the life of the process. "" is `unnamed`, and so is a new name
/// beyond max_names, which is counted.
name_id register_name(std::string_view name);

/// Calls of register_name() with a new name beyond max_names.
std::uint64_t names_dropped() noexcept;

/// The text of an id, valid for the life of the process. "unnamed" for 0 and for unknown ids.
std::string_view name_of(name_id id);

/// The number of ids in use, including `unnamed`: ids are 0 .. name_count() - 1.
name_id name_count();

/// As name_of(), for signal handlers: does not block, and returns "(unknown)" while another thread registers a name.
std::string_view name_of_at_once(name_id id) noexcept;

/// The id of a type's readable name, such as "work(int)::lambda#1".
name_id register_type_name(const std::type_info& type);
/// The id of the function at an address. Cost: a load and a comparison if the function is known.
name_id register_function_name(const void* function);
/// A demangled name without compiler artefacts: "{lambda(int)#1}" and clang's "$_0" become "lambda#1".
std::string readable_name(std::string_view demangled);

/// The same for type T, looked up once per type.
template <class T>
name_id register_type_name() {
  static const name_id id = register_type_name(typeid(T));
  return id;
}

/// The name of the callable `f`: that of the function if `f` is a pointer to one, otherwise that of its type, looked up
/// once per type. A callable with a wrapped_callable() has the name of that one.
template <class F>
name_id register_callable_name(const F& f) {
  if constexpr (std::is_function_v<F>) {
    return register_function_name(reinterpret_cast<const void*>(&f));
  } else if constexpr (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>) {
    return register_function_name(reinterpret_cast<const void*>(f));
  } else if constexpr (std::is_member_function_pointer_v<F>) {
    // Itanium ABI: the first word is the function's address or, for a virtual function, a small number.
    std::uintptr_t words[2] = {};
    std::memcpy(words, &f, sizeof f < sizeof words ? sizeof f : sizeof words);
    return words[0] < 65536 || (words[0] & 1u) != 0 ? register_type_name<F>()
                                                    : register_function_name(reinterpret_cast<const void*>(words[0]));
  } else if constexpr (requires { f.wrapped_callable(); }) {
    return register_callable_name(f.wrapped_callable());
  } else {
    return register_type_name<F>();
  }
}

}  // namespace plx::probe
