// The registered properties of an action, a function that other localities can call. Entries are static objects of the
// templates in net/action.hpp and register themselves before main().
//
// Thread safety: add_action() before main() or without concurrent use; the rest from any thread afterwards. Cost: none
// per parcel: the index is a place in a table. Example: net/core/test/action_test.cpp
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

/// The caller of an action, and where the answer goes.
struct request {
  node* here = nullptr;              ///< the locality that was called
  locality_id from = 0;              ///< the calling locality
  std::uint32_t credits = 0;         ///< returned to it when the call begins
  std::uint64_t reply_to = 0;        ///< the caller's slot for the answer; 0: no answer is expected
  std::uint16_t action = 0;          ///< index of the action
  locality_id caller = no_locality;  ///< of a forwarded call: it gets the answer; otherwise `from` does
  std::uint32_t held = 0;            ///< pages of the receive budget, given back when the call begins

  [[nodiscard]] locality_id answered() const noexcept { return caller != no_locality ? caller : from; }
};

/// The task made from a parcel. It is either run or dropped.
struct parcel_task : plx::detail::task {
  void (*drop)(parcel_task*) noexcept = nullptr;
};

/// Reads the arguments and makes the task; null, with `r.failed()`, if they do not match the action.
using decode_function = parcel_task* (*)(wire_reader& r, const request& q);

/// One per action and program.
struct action_entry {
  std::string_view signature;  ///< function and type, as the compiler writes them: the action's identity
  std::string_view layout;     ///< sizes of the arguments and the result, by which different builds are detected
  decode_function decode = nullptr;
  bool control = false;     ///< internal to net: not counted as a parcel of the program
  bool direct = false;      ///< run by the polling thread, see is_direct
  std::uint16_t index = 0;  ///< its place in all_actions(), the same on all localities
  std::uint32_t name = 0;   ///< name of its tasks in measurements (probe::name_id)
  std::uint64_t id = 0;     ///< hash of the signature
  action_entry* next = nullptr;
};

/// Marks an action as internal to net: template <> inline constexpr bool is_control<&f> = true; Such calls do not count
/// as the program's, so that the detection of quiescence does not itself count as activity.
template <auto F>
inline constexpr bool is_control = false;
/// Marks an action that takes about a microsecond and never waits: the thread that receives its parcels calls it at
/// once, without a task.
///   template <> inline constexpr bool plx::net::is_direct<&my_function> = true;
template <auto F>
inline constexpr bool is_direct = false;

/// Registers one. Requires: before main(), or at least before the first node.
void add_action(action_entry& e) noexcept;
/// All actions in the order of their ids, those with the same signature in the order of their code; fixed by the first
/// call. Index 0 is no action; answers use it.
std::span<const action_entry* const> all_actions();
/// One line per action: signature and layout, and for several actions with the same signature their number and the
/// place of their code. Localities compare the descriptions when they start.
std::string describe_actions();
/// The name of its function, such as "mine::f"; the second overload is "mine::f#2". Requires: all_actions() was called.
std::string_view function_of(const action_entry& e);
/// Describes in one line how two descriptions differ; empty if they are the same.
std::string difference_of_actions(std::string_view here, std::string_view there);

}  // namespace plx::net
