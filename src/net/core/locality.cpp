#include "net/locality.hpp"

#include "net/core/node.hpp"

namespace plx {
namespace {

std::vector<locality_id> living(bool with_here) {
  const net::node& n = net::node_here();
  std::vector<locality_id> all;
  for (locality_id i = 0; i < n.size(); ++i)
    if (!n.is_lost(i) && (with_here || i != n.here())) all.push_back(i);
  return all;
}

}  // namespace

locality_id find_here() { return net::node_here().here(); }
locality_id find_root_locality() { return 0; }
unsigned locality_count() { return net::node_here().size(); }
std::vector<locality_id> find_all_localities() { return living(true); }
std::vector<locality_id> find_remote_localities() { return living(false); }

}  // namespace plx
