// What is known of an action: a function that other localities can call. Entries are static objects of the templates in
// net/action.hpp and register themselves before main().
//
// Thread safety: add_action() before main() or under no other use; the rest from any thread afterwards. Cost: none when
// parcels come and go: the index is a place in a table. Example: net/core/test/action_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/core/wire.hpp"
#include "net/locality.hpp"
#include "rt/core/task.hpp"

namespace plx::net {

class node;

/// Who asks, and where the answer goes.
struct request {
  node* here = nullptr;        ///< the locality that was asked
  locality_id from = 0;        ///< the one that asks
  std::uint64_t reply_to = 0;  ///< its slot for the answer; 0: none is wanted
  std::uint16_t action = 0;    ///< which one
};

/// The task that a parcel becomes. Either it runs, or it is dropped.
struct parcel_task : plx::detail::task {
  void (*drop)(parcel_task*) noexcept = nullptr;
};

/// Reads the arguments and makes the task; null, with `r.failed()`, when they are not what they should be.
using decode_function = parcel_task* (*)(wire_reader& r, const request& q);

/// One per action and program.
struct action_entry {
  std::string_view signature;  ///< function and type, as the compiler writes them: the action's identity
  std::string_view layout;     ///< how large what travels is, so that different builds are noticed
  decode_function decode = nullptr;
  bool control = false;     ///< net's own bookkeeping: not counted as the program's parcels
  bool direct = false;      ///< called by who polls, see is_direct
  std::uint16_t index = 0;  ///< its place in all_actions(), the same on all localities
  std::uint32_t name = 0;   ///< of its tasks, for measurement (probe::name_id)
  std::uint64_t id = 0;     ///< hash of the signature
  action_entry* next = nullptr;
};

/// Said of net's own bookkeeping: template <> inline constexpr bool is_control<&f> = true; such calls do not count as
/// the program's, so that asking whether all is quiet makes no noise.
template <auto F>
inline constexpr bool is_control = false;
/// Says that the function F takes a microsecond or so and never waits: where it is an action, whoever takes its parcels
/// from the network calls it at once, without a task.
///   template <> inline constexpr bool plx::net::is_direct<&my_function> = true;
template <auto F>
inline constexpr bool is_direct = false;

/// Registers one. Requires: before main(), or at least before the first node.
void add_action(action_entry& e) noexcept;
/// All of them in the order of their ids, those of one signature by the places of their code; fixed by the first call.
/// Index 0 is no action: it is what answers use.
std::span<const action_entry* const> all_actions();
/// One line per action: signature, layout, and of several with one signature their number and where their code is. What
/// localities compare when they start.
std::string describe_actions();
/// The name of its function, as "mine::f"; of overloaded ones the second is "mine::f#2". Requires: all_actions() was
/// called.
std::string_view function_of(const action_entry& e);
/// Says in one line how two descriptions differ; empty when they do not.
std::string difference_of_actions(std::string_view here, std::string_view there);
/// FNV-1a.
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

}  // namespace plx::net
