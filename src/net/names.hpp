// Names of objects, visible on all localities. A name holds a reference: it keeps its object alive until it is removed.
//
//   plx::register_as("mesh/root", id).get();
//   auto root = plx::find<block>("mesh/root", plx::if_absent::wait).get();
//
// Names are distributed over the localities by hash; those on a lost locality are lost, and looking one up fails with
// locality_lost. Thread safety: everything. Cost: a round trip. Example: net/test/names_test.cpp
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "net/component.hpp"

namespace plx {

/// The behaviour of find() for a name that is not registered.
enum class if_absent : std::uint8_t {
  empty,  ///< returns an empty handle
  wait    ///< becomes ready when the name is registered
};

namespace net::detail {
future<handle> find_name(const std::string& name, if_absent then);
}

/// False if the name is taken. Requires: the handle is not empty.
[[nodiscard]] future<bool> register_as(const std::string& name, const net::handle& object);
/// False if the name was not registered.
future<bool> unregister(const std::string& name);
/// All names with this prefix, sorted, except those on lost localities. Blocks.
std::vector<std::string> names_with(const std::string& prefix);

/// The object with that name. Errors: std::invalid_argument when it is not a T.
template <class T>
future<global<T>> find(const std::string& name, if_absent then = if_absent::empty) {
  return net::detail::find_name(name, then).then(launch::sync, [name](future<net::handle> found) {
    const net::handle h = found.get();
    if (!h) return global<T>();
    if (h.id().type != net::detail::object_type_tag<T>)
      throw std::invalid_argument("the object named '" + name + "' has a different type than the one requested");
    return net::handle_access::adopt<global<T>>(net::detail::keep(net::handle_access::reference_of(h)));
  });
}

}  // namespace plx
