#include "net/team.hpp"

#include <complex>
#include <cstdint>

#include "net/collectives.hpp"

namespace plx {

team::team(plx::communicator all) : all_(std::make_shared<const plx::communicator>(std::move(all))) {}

unsigned team::rank() const noexcept { return all_ ? all_->rank() : 0; }
unsigned team::size() const noexcept { return all_ ? all_->size() : 1; }

team team::split(std::uint64_t colour) const { return is_alone() ? *this : team(all_->split(colour)); }

template <class T>
std::vector<T> team::gather(std::vector<T> own) const {
  if (is_alone()) return own;
  std::vector<T> all;
  for (auto& part : all_->all_gather(std::move(own)).get()) all.insert(all.end(), part.begin(), part.end());
  return all;
}
template std::vector<double> team::gather(std::vector<double>) const;
template std::vector<std::complex<double>> team::gather(std::vector<std::complex<double>>) const;
template std::vector<std::uint64_t> team::gather(std::vector<std::uint64_t>) const;

unsigned team::first_with(bool own) const {
  const auto all = gather(std::vector<double>{own ? 1.0 : 0.0});
  unsigned rank = 0;
  while (rank < all.size() && all[rank] == 0) ++rank;
  return rank;
}

result<void> team::agree(const result<void>& own) const {
  if (!any(!own)) return {};
  // Results that were agreed on before have empty messages on all ranks but one.
  const unsigned speaker = first_with(!own && !own.error().message.empty());
  return speaker == rank() ? own : error{""};
}

}  // namespace plx
