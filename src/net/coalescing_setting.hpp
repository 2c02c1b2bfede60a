// What a setting says of how parcels collect (net/coalescing.hpp), as text.
//
// Thread safety: everything. Errors: one line. Example: net/coalescing_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/coalescing.hpp"

namespace plx {

/// Of one action, or of all for which nothing else was said (""): what a setting says.
struct coalescing_setting {
  std::string action;  ///< its name, or the last part of it
  coalescing how;
};
/// Reads a setting's text. An error of one line names what is wrong.
result<std::vector<coalescing_setting>> parse_coalescing(std::string_view text);
/// The same as text: "self", "off", "adaptive", "128,1000".
std::string describe(const coalescing& c);

namespace net {
class node;
struct action_entry;

/// The action of that name, or of which it is the last part ("f" is "mine::f"). An error of one line when there is
/// none, or several.
result<const action_entry*> find_action(std::string_view name);
/// Sets a node's parcels as a text says. An error of one line; what stands before the fault is set.
result<void> coalesce_as(node& n, std::string_view text);

}  // namespace net
}  // namespace plx
