// What the parts of agas on different localities call of each other.
//
// Thread safety: actions. Cost: docs/net.md. Example: net/component_test.cpp
#pragma once

#include "net/action.hpp"
#include "net/agas.hpp"
#include "net/detail/letter.hpp"

namespace plx::net {
namespace detail {

void agas_letter(locality_id from, letter l);
bool agas_entered(gid id, locality_id owner, locality_id holder, std::uint64_t stamp);
bool agas_moved(gid id, locality_id to, std::uint32_t moves);
bool agas_take_back(gid id, locality_id owner, std::uint32_t moves);
void agas_settle_asked(locality_id lost, locality_id asker);
void agas_settled(locality_id lost, locality_id who);

std::vector<probe::registration> add_agas_counters(node& n, const agas& a);

}  // namespace detail

// They take some locks and wait for nothing.
template <>
inline constexpr bool is_direct<&detail::agas_letter> = true;
template <>
inline constexpr bool is_direct<&detail::agas_entered> = true;
template <>
inline constexpr bool is_direct<&detail::agas_moved> = true;
template <>
inline constexpr bool is_direct<&detail::agas_take_back> = true;

}  // namespace plx::net
