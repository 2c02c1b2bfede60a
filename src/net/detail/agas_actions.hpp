// What the parts of agas on different localities call of each other.
//
// Thread safety: actions. Cost: docs/net.md. Example: net/component_test.cpp
#pragma once

#include "net/action.hpp"
#include "net/agas.hpp"
#include "net/detail/letter.hpp"

namespace plx::net {
namespace detail {

void agas_letter(sender from, letter l);
bool agas_entered(sender owner, gid id, locality_id holder, std::uint64_t stamp);
bool agas_moved(sender to, gid id, std::uint32_t moves);
bool agas_take_back(sender owner, gid id, std::uint32_t moves);
void agas_settle_asked(sender asker, locality_id lost);
void agas_settled(sender who, locality_id lost);

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
