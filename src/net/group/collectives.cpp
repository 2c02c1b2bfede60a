#include "net/collectives.hpp"

#include <numeric>

#include "base/assert.hpp"
#include "net/core/node.hpp"

namespace plx {
namespace {

std::vector<locality_id> everybody() {
  std::vector<locality_id> all(net::node_here().size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

}  // namespace

communicator::communicator() : communicator("") {}
communicator::communicator(const std::string& name) : communicator(name, everybody()) {}
communicator::communicator(const std::string& name, std::vector<locality_id> members)
    : group_(&net::collective::find_group(net::node_here(), name, std::move(members))) {}

future<void> communicator::barrier() const {
  return start<void>(kind::barrier, false, net::collective::nothing(), [](auto& c) { meet(c); });
}

void communicator::check_count(std::size_t n) const {
  PLX_ASSERT_EQ(n, std::size_t{size()});  // a value for each rank
}
unsigned communicator::checked(unsigned root) const {
  PLX_ASSERT(root < size() && "no such rank", root);
  return root;
}

}  // namespace plx
