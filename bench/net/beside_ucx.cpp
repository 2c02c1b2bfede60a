#include "beside_ucx.hpp"

#include <cstdio>
#include <string>

#include "net/action.hpp"
#include "net/coalescing.hpp"

namespace plx::bench {
namespace {

std::unique_ptr<raw_ucx> theirs;  // on the locality that is not the root

std::string open_there(const std::string& address_of_root) {
  std::string why;
  theirs = raw_ucx::open(why);
  if (theirs == nullptr) return "";
  theirs->connect(address_of_root);
  return theirs->address();
}
void close_there() { theirs.reset(); }
void pong_there(int n) { theirs->pong(n); }
void pull_there(int n, std::uint64_t bytes, std::uint64_t places) { theirs->pull(n, bytes, places); }

}  // namespace

beside_ucx::beside_ucx() {
  std::string why;
  mine_ = raw_ucx::open(why);
  if (mine_ != nullptr) {
    const std::string address = async<&open_there>(1, mine_->address()).get();
    if (!address.empty()) {
      mine_->connect(address);
      return;
    }
    mine_.reset();
    why = "it cannot be opened on the other side";
  }
  std::printf("# no figures of UCX alone: %s\n", why.c_str());
}

beside_ucx::~beside_ucx() {
  if (mine_ != nullptr) async<&close_there>(1).get();
}

double beside_ucx::round_trip_us(int n) {
  auto other = async<&pong_there>(1, n);
  flush_parcels();
  mine_->ping(10);
  const double s = mine_->ping(n - 10);
  other.get();
  return s / (n - 10) * 1e6;
}

double beside_ucx::bytes_per_s(int n, std::size_t bytes, std::size_t places) {
  auto other = async<&pull_there>(1, n, std::uint64_t{bytes}, std::uint64_t{places});
  flush_parcels();
  const double s = mine_->push(n, bytes);
  other.get();
  return static_cast<double>(bytes) * n / s;
}

}  // namespace plx::bench
