#include "parquet/distribution/rotation_exchange.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/coalescing.hpp"
#include "net/collectives.hpp"
#include "rt/for_loop.hpp"
#include "rt/latch.hpp"

namespace plx::parquet {

using complex = std::complex<double>;

namespace {

// The exchange of this locality.
class exchange_place final : public net::service {
 public:
  explicit exchange_place(net::node&) {}
  std::atomic<rotation_exchange*> current{nullptr};
};
std::atomic<rotation_exchange*>& place() { return net::node_here().get<exchange_place>().current; }

}  // namespace

void parquet_store_row(std::uint64_t number, const std::vector<complex>& values) {
  // acquire: pairs with the release in the constructor; the barrier there is before the first row is sent.
  rotation_exchange* here = place().load(std::memory_order_acquire);
  if (here == nullptr) throw std::runtime_error("a row of a vertex for a locality that does not rotate");
  here->receive(number, values);
}

rotation_exchange::rotation_exchange(const vertex_grid& grid, const team& members, rotation_form form)
    : grid_(grid), team_(members), form_(form) {
  for (unsigned rank = 0; rank <= team_.size(); ++rank) firsts_.push_back(grid.first_slab(rank, team_.size()));
  const int begin = first(team_.rank()), end = first(team_.rank() + 1);
  rotated_.resize(static_cast<std::size_t>(end - begin) * all_rotations.size());
  for (int s = begin; s < end; ++s) {
    const std::size_t outside = grid.rows(grid.transfer_of(s).frequency) - 1;
    for (const rotation r : all_rotations) rotated_[index(r, s)].resize(outside * outside);
  }
  for (int s = 0; s < grid.n_slabs(); ++s)
    for (const rotation r : all_rotations)
      if (s < begin || s >= end) each_row(s, r, team_.rank(), [&](const row&, int) { ++expected_rows_; });
  if (form_ == rotation_form::rows) coalesce<&parquet_store_row>(no_coalescing);
  if (form_ == rotation_form::coalesced) coalesce<&parquet_store_row>({.parcels = 128, .interval_us = 1000});
  if (form_ == rotation_form::adaptive) coalesce<&parquet_store_row>(plx::adaptive);
  missing_ = std::make_unique<latch>(expected_rows_);
  place().store(this, std::memory_order_release);
  team_.communicator().barrier().get();
}

rotation_exchange::~rotation_exchange() { place().store(nullptr, std::memory_order_release); }

// f(row, size) for the rows of a source slab that a rotation of the slabs of a rank reads.
template <class F>
void rotation_exchange::each_row(int source_slab, rotation r, unsigned to_rank, F&& f) const {
  const transfer from = grid_.transfer_of(source_slab);
  for (const int sign : {1, -1}) {
    if (sign < 0 && from.frequency == 0) continue;
    for (int target = first(to_rank); target < first(to_rank + 1); ++target) {
      const row at{r, target, {from.momentum, sign * from.frequency}};
      if (const int size = row_size(at); size > 0) f(at, size);
    }
  }
}

// f(n, n', column, column'): the frequencies of a row's elements, and their columns in the slab of the target.
template <class F>
void rotation_exchange::each_column(const row& at, F&& f) const {
  const int m = grid_.transfer_of(at.target).frequency, begin = grid_.first(enters_particle_hole(at.r), m),
            columns = grid_.columns(m);
  for (int column = 0; column < columns; ++column) {
    const int np = partner(grid_.lattice(), at.r, {0, begin + column}, {0, m}, {0, at.source.m}).n;
    if (np >= begin && np < begin + columns) f(begin + column, np, column, np - begin);
  }
}

int rotation_exchange::row_size(const row& at) const noexcept {
  const int m = grid_.transfer_of(at.target).frequency, columns = grid_.columns(m),
            begin = grid_.first(enters_particle_hole(at.r), m);
  int distance = 0;  // columns without a partner
  switch (at.r) {
    case rotation::crossed:
    case rotation::direct:
      distance = at.source.m;
      break;
    case rotation::pairs:  // n + n' = source.m - m - 1, while 2 begin + columns - 1 is the middle of all sums
      distance = at.source.m - m - 1 - (2 * begin + columns - 1);
      break;
    case rotation::exchanged:
      distance = m - 1 - at.source.m - (2 * begin + columns - 1);
      break;
  }
  return std::max(0, columns - std::abs(distance)) * grid_.n_momenta();
}

std::uint64_t rotation_exchange::number_of(const row& at) const noexcept {
  const std::uint64_t slab = static_cast<std::uint64_t>(at.r) * grid_.n_slabs() + at.target;
  return (slab * (2 * grid_.bosons() - 1) + at.source.m + grid_.bosons() - 1) * grid_.n_momenta() + at.source.k;
}

auto rotation_exchange::row_of(std::uint64_t number) const -> row {
  const std::uint64_t n_momenta = grid_.n_momenta(), n_m = 2 * grid_.bosons() - 1, n_slabs = grid_.n_slabs();
  if (number >= all_rotations.size() * n_slabs * n_m * n_momenta)
    throw std::runtime_error("a row of a vertex with an impossible number");
  const std::uint64_t slab = number / n_momenta / n_m;
  return {static_cast<rotation>(slab / n_slabs),
          static_cast<int>(slab % n_slabs),
          {static_cast<int>(number % n_momenta), static_cast<int>(number / n_momenta % n_m) - grid_.bosons() + 1}};
}

void rotation_exchange::fill(const vertex_reader& local, const row& at, complex* out) const {
  const auto& lattice = grid_.lattice();
  const transfer q = grid_.transfer_of(at.target);
  const int n_momenta = grid_.n_momenta();
  std::vector<int> second(n_momenta);  // by K
  for (int k = 0; k < n_momenta; ++k) {
    const int kp = partner(lattice, at.r, {k, 0}, {q.momentum, 0}, {at.source.k, 0}).k;
    second[k] = rotated(lattice, at.r, {k, 0}, {kp, 0}, {q.momentum, 0}).kp.k;
  }
  each_column(at, [&](int n, int np, int, int) {
    const auto place = rotated(lattice, at.r, {0, n}, {0, np}, {0, q.frequency});
    const vertex_window window = local.at(reads_particle_hole(at.r), place.k.n, place.kp.n, place.q.m);
    for (int k = 0; k < n_momenta; ++k) {
      const auto v = window(k, second[k], at.source.k);
      *out++ = v.a;
      *out++ = v.b;
    }
  });
}

void rotation_exchange::store(const row& at, const complex* in) {
  auto& to = rotated_[index(at.r, at.target)];
  const transfer q = grid_.transfer_of(at.target);
  const int n_momenta = grid_.n_momenta();
  const std::size_t outside = grid_.rows(q.frequency) - 1;
  std::vector<int> partners(n_momenta);  // by K
  for (int k = 0; k < n_momenta; ++k)
    partners[k] = partner(grid_.lattice(), at.r, {k, 0}, {q.momentum, 0}, {at.source.k, 0}).k;
  each_column(at, [&](int, int, int column, int other) {
    channel_pair* begin = to.data() + static_cast<std::size_t>(column) * n_momenta +
                          static_cast<std::size_t>(other) * n_momenta * outside;
    for (int k = 0; k < n_momenta; ++k, in += 2) begin[k + partners[k] * outside] = {in[0], in[1]};
  });
}

void rotation_exchange::receive(std::uint64_t number, const std::vector<complex>& values) {
  const row at = row_of(number);
  const bool ours = at.target >= first(team_.rank()) && at.target < first(team_.rank() + 1);
  if (!ours || values.size() != 2 * static_cast<std::size_t>(row_size(at)))
    throw std::runtime_error("a row of a vertex of another size, or of another locality, than expected");
  store(at, values.data());
  missing_->count_down();
}

rotation_work rotation_exchange::rotate(const vertex_reader& local) {
  rotation_work work;
  const double begin = monotonic_seconds();
  if (form_ == rotation_form::packed) {
    send_packed(local, work);
  } else {
    send_rows(local, work);
  }
  work.seconds = monotonic_seconds() - begin;
  return work;
}

void rotation_exchange::rotate_local(const vertex_reader& local) {
  const unsigned me = team_.rank();
  for_loop({probe::register_name("parquet/rotate"), probe::no_key}, first(me), first(me + 1), [&](int s) {
    std::vector<complex> buffer;
    for (const rotation r : all_rotations)
      each_row(s, r, me, [&](const row& at, int size) {
        buffer.resize(2 * static_cast<std::size_t>(size));
        fill(local, at, buffer.data());
        store(at, buffer.data());
      });
  });
}

void rotation_exchange::send_rows(const vertex_reader& local, rotation_work& work) {
  const unsigned me = team_.rank(), ranks = team_.size();
  std::atomic<std::int64_t> rows{0}, numbers{0};
  for_loop({probe::register_name("parquet/send-rows"), probe::no_key}, first(me), first(me + 1), [&](int s) {
    std::int64_t own_rows = 0, own_numbers = 0;
    for (unsigned i = 1; i < ranks; ++i) {
      const unsigned to = (me + i) % ranks;
      for (const rotation r : all_rotations)
        each_row(s, r, to, [&](const row& at, int size) {
          std::vector<complex> values(2 * static_cast<std::size_t>(size));
          fill(local, at, values.data());
          post<&parquet_store_row>(team_.communicator().members()[to], number_of(at), std::move(values));
          ++own_rows;
          own_numbers += 2 * size;
        });
    }
    rows.fetch_add(own_rows, std::memory_order_relaxed);  // read after the loop
    numbers.fetch_add(own_numbers, std::memory_order_relaxed);
  });
  flush_parcels();
  rotate_local(local);
  missing_->wait();
  missing_ = std::make_unique<latch>(expected_rows_);
  // A locality sends the rows of its next iteration only after collective calls in which this one takes part later.
  work.messages = rows;
  work.sent_bytes = static_cast<double>(numbers) * sizeof(complex);
}

void rotation_exchange::send_packed(const vertex_reader& local, rotation_work& work) {
  const unsigned me = team_.rank(), ranks = team_.size();
  for (const rotation r : all_rotations) {
    std::vector<std::vector<complex>> out(ranks);
    for (unsigned to = 0; to < ranks; ++to) {
      if (to == me) continue;
      std::vector<std::size_t> begins = {0};  // of each local source slab
      for (int s = first(me); s < first(me + 1); ++s) {
        std::size_t numbers = 0;
        each_row(s, r, to, [&](const row&, int size) { numbers += 2 * static_cast<std::size_t>(size); });
        begins.push_back(begins.back() + numbers);
      }
      out[to].resize(begins.back());
      work.sent_bytes += static_cast<double>(begins.back()) * sizeof(complex);
      ++work.messages;
      for_loop({probe::register_name("parquet/pack"), probe::no_key}, first(me), first(me + 1), [&](int s) {
        complex* at = out[to].data() + begins[s - first(me)];
        each_row(s, r, to, [&](const row& which, int size) {
          fill(local, which, at);
          at += 2 * size;
        });
      });
    }
    auto coming = team_.communicator().all_to_all(out);
    if (r == all_rotations.front()) rotate_local(local);
    const auto in = coming.get();
    for (unsigned from = 0; from < ranks; ++from) {
      if (from == me) continue;
      std::vector<std::size_t> begins = {0};
      for (int s = first(from); s < first(from + 1); ++s) {
        std::size_t numbers = 0;
        each_row(s, r, me, [&](const row&, int size) { numbers += 2 * static_cast<std::size_t>(size); });
        begins.push_back(begins.back() + numbers);
      }
      if (in[from].size() != begins.back())
        throw std::runtime_error("packed rows of a vertex of another size than expected");
      for_loop({probe::register_name("parquet/unpack"), probe::no_key}, first(from), first(from + 1), [&](int s) {
        const complex* at = in[from].data() + begins[s - first(from)];
        each_row(s, r, me, [&](const row& which, int size) {
          store(which, at);
          at += 2 * size;
        });
      });
    }
  }
}

void rotation_exchange::irreducible(const vertex_reader& local, bool particle_hole, transfer q, matrix_view<complex> a,
                                    matrix_view<complex> b) const {
  const auto& lattice = grid_.lattice();
  const double u = local.green().model().u;
  const int n_momenta = grid_.n_momenta(), m = q.frequency, first = grid_.first(particle_hole, m),
            columns = grid_.columns(m);
  const std::size_t outside = static_cast<std::size_t>(columns) * n_momenta;
  const rotation rs[2] = {particle_hole ? rotation::crossed : rotation::direct,
                          particle_hole ? rotation::pairs : rotation::exchanged};
  const rotation_momenta momenta[2] = {{lattice, rs[0], q.momentum}, {lattice, rs[1], q.momentum}};
  const channel_pair* kept[2] = {rotated_[index(rs[0], grid_.slab(q))].data(),
                                 rotated_[index(rs[1], grid_.slab(q))].data()};
  for (int np = 0; np < columns; ++np)
    for (int n = 0; n < columns; ++n) {
      // Beyond the largest transfer the vertex follows from the propagator, on any locality.
      bool beyond[2];
      vertex_window window[2];
      for (int x = 0; x < 2; ++x) {
        const auto place = rotated(lattice, rs[x], {0, first + n}, {0, first + np}, {0, m});
        beyond[x] = std::abs(place.q.m) >= grid_.bosons();
        if (beyond[x]) window[x] = local.at(reads_particle_hole(rs[x]), place.k.n, place.kp.n, place.q.m);
      }
      for (int kp = 0; kp < n_momenta; ++kp)
        for (int k = 0; k < n_momenta; ++k) {
          const int i = n * n_momenta + k, j = np * n_momenta + kp;
          channel_pair v[2];
          for (int x = 0; x < 2; ++x)
            v[x] = beyond[x] ? window[x](k, momenta[x].second(k, kp), momenta[x].transfer(k, kp))
                             : kept[x][i + j * outside];
          const auto gamma =
              particle_hole ? combine_particle_hole(u, v[0], v[1]) : combine_particle_particle(u, v[0], v[1]);
          a(i, j) = gamma.a;
          b(i, j) = gamma.b;
        }
    }
  set_outside(particle_hole, u, a, b);
}

}  // namespace plx::parquet
