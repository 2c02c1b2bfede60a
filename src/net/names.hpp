// Names of objects, known on all localities. A name holds a reference: its object lives until the name goes.
//
//   plx::register_as("mesh/root", id).get();
//   auto root = plx::find<block>("mesh/root", plx::if_absent::wait).get();
//
// Names are spread over the localities by hash; those on a lost locality are lost, and asking for one gives
// locality_lost. Thread safety: everything. Cost: a message there and back. Example: net/test/names_test.cpp
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "net/component.hpp"

namespace plx {

/// What find() does about a name that nobody has registered.
enum class if_absent : std::uint8_t {
  empty,  ///< gives an empty handle
  wait    ///< is ready when somebody has
};

namespace net::detail {
future<handle> find_name(const std::string& name, if_absent then);
}

/// False: the name is taken. Requires: the handle is not empty.
[[nodiscard]] future<bool> register_as(const std::string& name, const net::handle& object);
/// False: nobody had registered it.
future<bool> unregister(const std::string& name);
/// All names that begin so, sorted; those on lost localities are missing. Waits.
std::vector<std::string> names_with(const std::string& prefix);

/// The object of that name. Errors: std::invalid_argument when it is no T.
template <class T>
future<global<T>> find(const std::string& name, if_absent then = if_absent::empty) {
  return net::detail::find_name(name, then).then(launch::sync, [name](future<net::handle> found) {
    const net::handle h = found.get();
    if (!h) return global<T>();
    if (h.id().type != net::detail::object_type_tag<T>)
      throw std::invalid_argument("the object named '" + name + "' is of another type than the one asked for");
    return net::handle_access::adopt<global<T>>(net::detail::keep(net::handle_access::reference_of(h)));
  });
}

}  // namespace plx
