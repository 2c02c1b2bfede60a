// Names of tasks, interned once per process: the hot path carries a 32-bit id, never a string.
//
// Thread safety: everything. Cost: register_name takes a lock and may allocate, so a call site keeps the id in a
// static; name_of takes a lock (used when results are written). Example: probe/names_test.cpp
#pragma once

#include <cstdint>
#include <string_view>
#include <typeinfo>

namespace plx::probe {

/// Stands for a name.
using name_id = std::uint32_t;

/// Of tasks that nobody named.
inline constexpr name_id unnamed = 0;

/// The key of a task that works on no object in particular.
inline constexpr std::uint64_t no_key = ~0ull;

/// Ids stay below this; when a program registers more names, the rest are `unnamed`.
inline constexpr name_id max_names = 1u << 14;

/// The id of a name: the same text gets the same id for the life of the process. "" is `unnamed`.
name_id register_name(std::string_view name);

/// The text of an id, valid for the life of the process. "unnamed" for 0 and for ids never given out.
std::string_view name_of(name_id id);

/// How many ids have been given out, `unnamed` included: they are 0 .. name_count() - 1.
name_id name_count();

/// The id of a type's readable name, such as "void work(int)::{lambda()#1}".
name_id register_type_name(const std::type_info& type);

/// As above, looked up once per type.
template <class T>
name_id register_type_name() {
  static const name_id id = register_type_name(typeid(T));
  return id;
}

}  // namespace plx::probe
