// Rows of tensors sent to their rotated positions under eight rotations: row by row, and packed by hand.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "parts.hpp"
#include "rt/latch.hpp"
#include "series.hpp"
#include "traffic.hpp"

namespace plx::bench {
namespace {

struct matrix {
  int a, b, c, d;
};
// Transposition, sums and differences of the two indices, as frequencies and momenta are exchanged.
constexpr matrix rotations[n_rotations] = {{0, 1, 1, 0}, {0, 1, -1, 0}, {1, 1, 0, 1},  {1, -1, 0, 1},
                                           {1, 1, 1, 2}, {2, 1, 1, 1},  {0, 1, -1, 1}, {-1, 1, 0, 1}};

unsigned within(int x, unsigned nc) noexcept {
  const int n = static_cast<int>(nc);
  return static_cast<unsigned>(((x % n) + n) % n);
}

// Element k of row (i, j): no two are the same.
number element(unsigned i, unsigned j, unsigned k) noexcept { return {1e-3 + i * 1024.0 + j, k + 1.0 / (1 + i + j)}; }

}  // namespace

rotated_tensor::rotated_tensor(unsigned nc, locality_id here, unsigned localities)
    : nc_(nc), planes_(nc / localities), here_(here) {
  const std::size_t mine = std::size_t{planes_} * nc * nc;
  from_.resize(mine);
  to_.resize(n_rotations * mine);
  for (unsigned i = first_plane(); i < first_plane() + planes_; ++i)
    for (unsigned j = 0; j < nc; ++j)
      for (unsigned k = 0; k < nc; ++k) from_[offset(i, j) + k] = element(i, j, k);
}

row_place rotated_tensor::rotated(unsigned r, unsigned i, unsigned j) const noexcept {
  const matrix& m = rotations[r];
  const int x = static_cast<int>(i), y = static_cast<int>(j);
  return {r, within(m.a * x + m.b * y, nc_), within(m.c * x + m.d * y, nc_)};
}

std::uint32_t rotated_tensor::number_of(const row_place& to) const noexcept {
  return (to.rotation * nc_ + to.i) * nc_ + to.j;
}
row_place rotated_tensor::place_of(std::uint32_t which) const noexcept {
  return {which / (nc_ * nc_), which / nc_ % nc_, which % nc_};
}

std::span<const number> rotated_tensor::row(unsigned i, unsigned j) const noexcept {
  return {from_.data() + offset(i, j), nc_};
}

bool rotated_tensor::store(std::uint32_t which, std::span<const number> row) noexcept {
  const row_place to = place_of(which);
  if (row.size() != nc_ || to.rotation >= n_rotations || owner(to) != here_) return false;
  number* at = to_.data() + to.rotation * from_.size() + offset(to.i, to.j);
  std::memcpy(at, row.data(), row.size_bytes());
  return true;
}

bool rotated_tensor::is_rotated_row(unsigned r, unsigned i, unsigned j) const noexcept {
  // The inverse matrix undoes the rotation.
  const matrix& m = rotations[r];
  const int det = m.a * m.d - m.b * m.c, x = static_cast<int>(i), y = static_cast<int>(j);
  const unsigned was_i = within(det * (m.d * x - m.b * y), nc_), was_j = within(det * (m.a * y - m.c * x), nc_);
  const number* row = to_.data() + r * from_.size() + offset(i, j);
  for (unsigned k = 0; k < nc_; ++k) {
    const number expected = element(was_i, was_j, k);
    if (std::memcmp(&row[k], &expected, sizeof expected) != 0) return false;
  }
  return true;
}

bool rotated_tensor::complete() const noexcept {
  for (unsigned r = 0; r < n_rotations; ++r)
    for (unsigned i = first_plane(); i < first_plane() + planes_; ++i)
      for (unsigned j = 0; j < nc_; ++j)
        if (!is_rotated_row(r, i, j)) return false;
  return true;
}

void rotated_tensor::clear() noexcept { std::fill(to_.begin(), to_.end(), number()); }

namespace {

// The rows received, one exchange at a time.
struct arrivals {
  rotated_tensor tensor;
  std::optional<latch> missing;  // rows that this locality waits for

  arrivals(unsigned nc, locality_id here, unsigned localities) : tensor(nc, here, localities) {}
};
std::unique_ptr<arrivals> here;

}  // namespace

void bench_store_row(std::uint32_t where, const std::vector<number>& row) {
  expect_same(here->tensor.store(where, row), "a row of the tensor");
  if (here->missing) here->missing->count_down();
}

namespace {

template <class F>  // f(number, owner, row) for all rows of all rotations that begin here
void each_row(const rotated_tensor& t, F f) {
  for (unsigned r = 0; r < n_rotations; ++r)
    for (unsigned i = t.first_plane(); i < t.first_plane() + t.planes(); ++i)
      for (unsigned j = 0; j < t.nc(); ++j) {
        const row_place to = t.rotated(r, i, j);
        f(t.number_of(to), t.owner(to), t.row(i, j));
      }
}

// Each row is a parcel; rows that stay local are copied.
void exchange_rows() {
  const locality_id me = find_here();
  each_row(here->tensor, [me](std::uint32_t where, locality_id owner, std::span<const number> row) {
    if (owner == me) {
      here->tensor.store(where, row);
      here->missing->count_down();
    } else {
      post<&bench_store_row>(owner, where, std::vector<number>(row.begin(), row.end()));
    }
  });
  here->missing->wait();
}

// One message to each locality: the rows in the order of each_row(), which the receiver repeats for the sender.
void exchange_packed(const communicator& all, unsigned localities) {
  rotated_tensor& t = here->tensor;
  std::vector<std::vector<number>> packed(localities);
  for (auto& p : packed) p.reserve(std::size_t{n_rotations} * t.planes() * t.nc() / localities * t.nc());
  each_row(t, [&](std::uint32_t, locality_id owner, std::span<const number> row) {
    packed[owner].insert(packed[owner].end(), row.begin(), row.end());
  });
  const auto came = all.all_to_all(packed).get();
  for (unsigned from = 0; from < localities; ++from) {
    std::span<const number> rest = came[from];
    for (unsigned r = 0; r < n_rotations; ++r)
      for (unsigned i = from * t.planes(); i < (from + 1) * t.planes(); ++i)
        for (unsigned j = 0; j < t.nc(); ++j) {
          const row_place to = t.rotated(r, i, j);
          if (t.owner(to) != find_here()) continue;
          t.store(t.number_of(to), rest.first(t.nc()));
          rest = rest.subspan(t.nc());
        }
  }
}

constexpr unsigned warm_units = 8;

struct rotation_sweep {
  job& j;
  const options& o;
  series& s;
  unsigned nc;

  void one(const std::string& variant, const std::string& setting, unsigned turn, bool counts) {
    here->tensor.clear();
    if (variant == "rows") here->missing.emplace(std::ptrdiff_t{n_rotations} * here->tensor.planes() * nc);
    const double at_s = s.elapsed_s();
    const sample measured = s.measure([&] {
      if (variant == "rows")
        exchange_rows();
      else
        exchange_packed(s.all(), j.size());
    });
    expect_same(here->tensor.complete(), "the rotated tensor");
    if (counts) s.write({"rotation", variant, nc, turn, setting, "0"}, at_s, measured);
  }
  void turn(unsigned number, bool counts) {
    for (const std::string& variant : o.variants) {
      if (variant == "packed") {
        one(variant, "packed", number, counts);
        continue;
      }
      for (const unsigned i : shuffled(static_cast<unsigned>(o.settings.size()), number)) {
        s.set(o.settings[i]);
        one(variant, o.settings[i], number, counts);
        if (!counts) break;
      }
    }
  }
};

}  // namespace

void sweep_rotation(job& j, const options& o) {
  series s(j, o, row_action);
  for (const unsigned nc : o.sizes) {
    here = std::make_unique<arrivals>(nc, j.here(), j.size());
    s.all().barrier().get();
    rotation_sweep sweep{j, o, s, nc};
    for (unsigned i = 0; i < warm_units; ++i) sweep.turn(o.first_turn, false);  // allocates memory
    for (unsigned turn = o.first_turn; turn < o.first_turn + o.turns; ++turn) sweep.turn(turn, true);
    s.all().barrier().get();
    here.reset();
  }
}

// ------------------------------------------------------------------------------------------------------- in small
// units

namespace {

class rotation final : public traffic {
 public:
  explicit rotation(unsigned nc) {
    here = std::make_unique<arrivals>(nc, find_here(), locality_count());
    communicator().barrier().get();
    each_row(here->tensor, [this](std::uint32_t where, locality_id owner, std::span<const number> row) {
      if (owner == find_here())
        here->tensor.store(where, row);
      else
        rows_.push_back({where, owner, row});
    });
  }
  ~rotation() override { here.reset(); }
  rotation(const rotation&) = delete;
  rotation& operator=(const rotation&) = delete;

  double exchange(unsigned n) override {
    const double begin = monotonic_seconds();
    for (unsigned i = 0; i < n; ++i) {
      const row_to_send& r = rows_[next_++ % rows_.size()];
      stored_.push_back(async<&bench_store_row>(r.owner, r.where, std::vector<number>(r.row.begin(), r.row.end())));
    }
    for (auto& f : stored_) f.wait();
    const double s = monotonic_seconds() - begin;
    for (auto& f : stored_) f.get();
    stored_.clear();
    return s;
  }
  unsigned dense() const override { return static_cast<unsigned>(rows_.size()); }
  unsigned burst() const override { return 100; }
  void check() override { expect_same(here->tensor.complete(), "the rotated tensor"); }

 private:
  struct row_to_send {
    std::uint32_t where;
    locality_id owner;
    std::span<const number> row;
  };
  std::vector<row_to_send> rows_;
  std::size_t next_ = 0;
  std::vector<future<void>> stored_;
};

}  // namespace

std::unique_ptr<traffic> rotation_traffic(unsigned nc) { return std::make_unique<rotation>(nc); }

}  // namespace plx::bench
