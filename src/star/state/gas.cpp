#include "star/state/gas.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "mesh/between/gather.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "num/exact_sum.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/device/data/spin_rule.hpp"
#include "star/driver/agreement.hpp"
#include "star/hydro/state.hpp"
#include "star/step/gas_step.hpp"
#include "step/exchange.hpp"
#include "step/round_end.hpp"

namespace plx::star {

namespace {

// Approximate size of a message of ghost cells or fluxes: large enough that the cost per message is negligible, small
// enough that the first ones are sent long before the last block has finished.
constexpr std::size_t message_bytes = std::size_t{64} << 10;

}  // namespace

gas::gas(const setup& s, step::exchange& with)
    : net(with),
      mesh(s.domain),
      parts(equal_parts(mesh, with.count())),
      now(fields_of(s.hydro, s.species.names), s.domain.block_size),
      stage_a(fields_of(s.hydro, s.species.names), s.domain.block_size),
      stage_b(fields_of(s.hydro, s.species.names), s.domain.block_size),
      sides(s.sides),
      reach(s.hydro.scheme == hydro_scheme::full3d || s.hydro.spin ? mesh::reach::full : mesh::reach::faces),
      spin(spin_variable(s.hydro)) {
  adopt(mesh::block_mesh(s.domain));
}

mesh::curve_parts equal_parts(const mesh::block_mesh& mesh, int count) {
  return {mesh::cut_curve(std::vector<double>(mesh.block_count(), 1.0), count), count};
}

void gas::adopt(mesh::block_mesh next) {
  mesh::curve_parts equal = equal_parts(next, net.count());
  adopt(std::move(next), std::move(equal));
}

void gas::adopt(mesh::block_mesh next, mesh::curve_parts next_parts) {
  mesh = std::move(next);
  parts = std::move(next_parts);
  signal_rate.resize(mesh.slot_count(), 0.0);
  if (elsewhere) return;
  if (net.is_alone()) {
    for (mesh::arena* a : {&now, &stage_a, &stage_b}) a->resize(mesh.slot_count());
    return;
  }
  ghosts = mesh::halo(mesh, parts, net.here(), now.variable_count(), message_bytes, reach);
  const std::size_t face_bytes = sizeof(double) * now.variable_count() * mesh.block_size() * mesh.block_size() / 4;
  between = mesh::flux_halo(mesh, parts, net.here(), std::max<std::size_t>(1, message_bytes / face_bytes));
  std::vector<mesh::slot_id> here(own().begin(), own().end());
  here.insert(here.end(), ghosts.mirrors().begin(), ghosts.mirrors().end());
  for (mesh::arena* a : {&now, &stage_a, &stage_b}) a->hold_only(mesh.slot_count(), here);
}

void gas::make_room(std::size_t slots, std::span<const mesh::slot_id> wanted) {
  signal_rate.resize(std::max(slots, signal_rate.size()), 0.0);
  net.is_alone() ? now.resize(slots) : now.hold(slots, wanted);
}

namespace {

// A round in which each group of ghost cells arrives once.
class mirror_round final : public step::message_handler {
 public:
  explicit mirror_round(gas& g) : g_(g), end_(static_cast<int>(g.ghosts.receives().size())) {}

  void run() {
    if (!exchange_all()) end_.fail();
  }
  void arrived(const step::message& m) override {
    const auto& group =
        g_.ghosts.receives()[g_.ghosts.first_receive(static_cast<int>(m.tag.from)) + static_cast<int>(m.tag.group)];
    PLX_ASSERT_EQ(m.values.size(), group.size());
    unpack(group, m.values.data(), g_.now);
    end_.arrive();
  }
  void lost(const std::exception_ptr& loss) override { end_.lost(loss); }

 private:
  bool exchange_all() {
    step::exchange::open_round round(g_.net);
    round.begin(*this);
    const auto sends = g_.ghosts.sends();
    for_loop({probe::register_name("star.pack"), probe::no_key}, std::size_t{0}, sends.size(), [&](std::size_t i) {
      buffer<double> values(sends[i].size());
      for (std::size_t b = 0; b < sends[i].blocks.size(); ++b) pack(sends[i], b, g_.now, values.data());
      step::message_tag tag;
      tag.group = static_cast<std::uint32_t>(g_.ghosts.number(static_cast<int>(i)));
      g_.net.send(sends[i].peer, tag, std::move(values));
    });
    return end_.wait();
  }

  gas& g_;
  step::round_end end_;
};

}  // namespace

void refresh_mirrors(gas& g) {
  if (!g.net.is_alone()) mirror_round(g).run();
}

double gas::largest_signal_rate() const {
  double largest = 0.0;
  for (const mesh::slot_id slot : own()) largest = std::max(largest, signal_rate[slot]);
  return largest;
}

void fill_from_problem(const problem& p, const mesh::block_mesh& mesh, mesh::slot_id slot, double t, double* values) {
  const int n = mesh.block_size();
  std::array<std::vector<double>, 3> centre;
  block_cells cells{n, mesh.cell_width(slot), {}};
  for (int axis = 0; axis < 3; ++axis) {
    for (int i = 0; i < n; ++i) centre[axis].push_back(mesh.centre(slot, axis, i));
    cells.centre[axis] = centre[axis].data();
  }
  fill_block(p, cells, t, values);
}

worker_scratch::worker_scratch(unsigned workers, const hydro_parameters& parameters, int block_size) : all_(workers) {
  const int n_var = variable_count(parameters);
  const auto rounded = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::size_t face_bytes = rounded(sizeof(double) * n_var * block_size * block_size);
  const std::size_t kernel_bytes = rounded(stage_scratch_bytes(parameters, block_size));
  for (one& w : all_) {
    w.tile.reserve(n_var, block_size);
    w.added.resize(static_cast<std::size_t>(n_var));
    w.memory = std::make_unique<std::byte[]>(kernel_bytes + mesh::face_count * face_bytes + 64);
    std::byte* p = w.memory.get();
    p += (64 - reinterpret_cast<std::uintptr_t>(p) % 64) % 64;
    w.kernel = p;
    p += kernel_bytes;
    for (double*& f : w.face) {
      f = reinterpret_cast<double*>(p);
      p += face_bytes;
    }
  }
}

std::vector<exact_sum> worker_scratch::take_added() {
  std::vector<exact_sum> sums;
  for (one& w : all_) {
    if (std::exchange(w.added_terms, 0) == 0) continue;
    sums.resize(w.added.size());
    for (std::size_t v = 0; v < sums.size(); ++v) add_limbs(std::exchange(w.added[v], {}), sums[v]);
  }
  return sums;
}

void floor_amounts::add(std::span<const exact_sum> sums) {
  PLX_ASSERT(sums.empty() || sums.size() == sums_.size(), sums.size());
  for (std::size_t v = 0; v < sums.size(); ++v) sums_[v].add(sums[v].value());
}

std::vector<double> floor_amounts::state() const {
  std::vector<double> all;
  for (const running_sum& s : sums_) all.insert(all.end(), {s.sum, s.lost});
  return all;
}

void floor_amounts::restore(std::span<const double> state) {
  PLX_ASSERT_EQ(state.size(), 2 * sums_.size());
  for (std::size_t v = 0; v < sums_.size(); ++v) sums_[v] = {state[2 * v], state[2 * v + 1]};
}

worker_scratch::one& worker_scratch::mine() {
  const std::optional<unsigned> index = worker_index();
  PLX_ASSERT(index && *index < all_.size());
  return all_[*index];
}

using mesh::slot_id;

namespace {

template <class F>
void for_families(double* u, int n, F&& f) {
  for (int k = 0; k < n; k += 2)
    for (int j = 0; j < n; j += 2)
      for (int i = 0; i < n; i += 2) f(u + (k * n + j) * n + i, i, j, k);
}

std::optional<device::face_to> face_to(mesh::relation across) {
  switch (across) {
    case mesh::relation::finer:
      return device::face_to::finer;
    case mesh::relation::coarser:
      return device::face_to::coarser;
    case mesh::relation::side:
      return device::face_to::side;
    default:
      return std::nullopt;
  }
}

}  // namespace

void complete_spin_flux(const mesh::block_mesh& mesh, slot_id slot, int face, int spin, double* flux) {
  const auto to = face_to(mesh.across(slot, face).kind);
  if (!to) return;
  const int n = mesh.block_size(), area = n * n;
  const block_place place = place_of(mesh, slot);
  for (int c = 0; c < area; ++c) {
    double momentum[3], g[3];
    for (int a = 0; a < 3; ++a) momentum[a] = flux[(i_momentum + a) * area + c], g[a] = flux[(spin + a) * area + c];
    device::arm_of_flux(*to, face, n, place, c % n, c / n).complete(momentum, g);
    for (int a = 0; a < 3; ++a) flux[(spin + a) * area + c] = g[a];
  }
}

void refine_spin(gas& g, const mesh::family& made) {
  if (g.spin < 0) return;
  const int n = g.mesh.block_size();
  const double dx = 0.5 * g.mesh.cell_width(made.parent);
  for (const slot_id child : made.children)
    for_families(g.now.block(child), n,
                 [&](double* first, int, int, int) { device::change_family(first, n, g.spin, dx); });
}

void merge_spin(gas& g, const mesh::family& made) {
  if (g.spin < 0) return;
  const int n = g.mesh.block_size(), half = n / 2;
  const double dx = g.mesh.cell_width(made.children[0]);
  double* parent = g.now.block(made.parent);
  for (int child = 0; child < 8; ++child)
    for_families(g.now.block(made.children[static_cast<std::size_t>(child)]), n,
                 [&](const double* first, int i, int j, int k) {
                   const device::cell_family cells{first, n, n * n, g.now.cells()};
                   const int x = i / 2 + (child & 1) * half, y = j / 2 + (child >> 1 & 1) * half,
                             z = k / 2 + (child >> 2) * half;
                   for (int a = 0; a < 3; ++a)
                     parent[(g.spin + a) * g.now.cells() + (z * n + y) * n + x] = cells.merged(g.spin, a, dx);
                 });
}

void start_spin(gas& g, worker_scratch& scratch) {
  const auto blocks = g.own();
  const int n = g.mesh.block_size(), cells = g.now.cells();
  const task_info info{probe::register_name("star.start_spin"), probe::no_key};
  const std::ptrdiff_t w = mesh::tile_width(n), stride[3] = {1, w, w * w};
  for_loop(info, std::size_t{0}, blocks.size(), [&](std::size_t p) {  // not in place: other blocks read the values
    const double* tile = mesh::gather_tile(g.mesh, g.now, blocks[p], g.sides, scratch.mine().tile, mesh::reach::faces);
    const double central = 0.5 / g.mesh.cell_width(blocks[p]);
    for (int a = 0; a < 3; ++a) {
      const int y = (a + 1) % 3, z = (a + 2) % 3;
      const double *in_y = tile + (i_momentum + y) * w * w * w, *in_z = tile + (i_momentum + z) * w * w * w;
      double* to = g.stage_a.block(blocks[p]) + (g.spin + a) * cells;
      for (int c = 0; c < cells; ++c) {
        const std::ptrdiff_t at =
            mesh::ghosts * (1 + w + w * w) + c % n + c / n % n * stride[1] + c / (n * n) * stride[2];
        to[c] = central * (in_z[at + stride[y]] - in_z[at - stride[y]]) -
                central * (in_y[at + stride[z]] - in_y[at - stride[z]]);
      }
    }
  });
  for_loop(info, std::size_t{0}, blocks.size(), [&](std::size_t p) {
    std::copy_n(g.stage_a.block(blocks[p]) + g.spin * cells, spin_variables * cells,
                g.now.block(blocks[p]) + g.spin * cells);
  });
}

std::vector<double> angular_momentum(const gas& g, slot_id slot, int component) {
  const block_place place = place_of(g.mesh, slot);
  std::vector<double> all(static_cast<std::size_t>(g.now.cells()));
  for (std::size_t c = 0; c < all.size(); ++c)
    all[c] = device::angular_momentum_of(place, g.mesh.block_size(), g.now.block(slot), g.spin, component,
                                         static_cast<int>(c));
  return all;
}

namespace {

constexpr int lanes = 8;  // block sizes are multiples of 8

// Kahan summation in eight lanes: sum - lost is the total of a lane.
struct lane_sums {
  std::array<double, lanes> sum{}, lost{};
};

lane_sums add_all(const double* values, int count) {
  lane_sums s;
  for (int i = 0; i < count; i += lanes)
    for (int l = 0; l < lanes; ++l) {
      const double term = values[i + l] - s.lost[l];
      const double next = s.sum[l] + term;
      s.lost[l] = (next - s.sum[l]) - term;
      s.sum[l] = next;
    }
  return s;
}

task_info info() {
  static const probe::name_id name = probe::register_name("star.totals");
  return {name, probe::no_key};
}

}  // namespace

std::vector<double> totals(const gas& g, unsigned workers) {
  const int n_var = g.now.variable_count();
  const auto blocks = g.own();
  std::vector<std::vector<exact_sum>> parts(workers, std::vector<exact_sum>(n_var));
  for_loop(info(), std::size_t{0}, blocks.size(), [&](std::size_t p) {
    const double dx = g.mesh.cell_width(blocks[p]), volume = dx * dx * dx;
    std::vector<exact_sum>& mine = parts[*worker_index()];
    std::vector<double> whole;  // angular momentum in place of spin
    for (int v = 0; v < n_var; ++v) {
      const double* values = g.now.block(blocks[p]) + static_cast<std::ptrdiff_t>(v) * g.now.cells();
      if (g.spin >= 0 && v >= g.spin) values = (whole = angular_momentum(g, blocks[p], v - g.spin)).data();
      const lane_sums s = add_all(values, g.now.cells());
      for (int l = 0; l < lanes; ++l) mine[v].add((s.sum[l] - s.lost[l]) * volume);
    }
  });
  std::vector<exact_sum> sums(n_var);
  for (const auto& p : parts)
    for (int v = 0; v < n_var; ++v) sums[v].add(p[v]);
  sum_over_localities(g.net, sums);
  std::vector<double> result;
  for (const exact_sum& s : sums) result.push_back(s.value());
  return result;
}

namespace {

constexpr std::size_t account_size = sizeof(step_account) / sizeof(double);

void join(const step_account& other, step_account& to) {
  to.signal_rate = std::max(to.signal_rate, other.signal_rate);
  for (int i = 0; i < 3; ++i) to.floors[i] += other.floors[i];
  to.wishes = static_cast<std::uint32_t>(to.wishes) | static_cast<std::uint32_t>(other.wishes);
  if (other.is_bad() && (!to.is_bad() || other.bad < to.bad)) to.bad = other.bad;
  if (other.failed > 0.0 && (to.failed == 0.0 || other.failed < to.failed)) to.failed = other.failed;
}

// The account as numbers, followed by the exact sums.
std::vector<double> written(const step_account& a, std::span<const exact_sum> sums) {
  std::vector<double> all(account_size);
  std::memcpy(all.data(), &a, sizeof a);
  append(sums, all);
  return all;
}

step_account read(std::span<const double> from, std::span<exact_sum> sums) {
  PLX_ASSERT(from.size() >= account_size, from.size());
  step_account a;
  std::memcpy(static_cast<void*>(&a), from.data(), sizeof a);
  add(from.subspan(account_size), sums);
  return a;
}

std::vector<double> combined(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<exact_sum> sums(count_of_sums(std::span(a).subspan(account_size)));
  step_account all = read(a, sums);
  join(read(b, sums), all);
  return written(all, sums);
}

}  // namespace

std::optional<bad_cell> step_account::bad_found(const gas& g) const {
  if (!is_bad()) return std::nullopt;
  return bad_cell{g.mesh.blocks()[static_cast<std::size_t>(bad[1])], static_cast<int>(bad[0]), static_cast<int>(bad[2]),
                  bad[3], bad[4]};
}

step_account agree_on_step(step::exchange& net, const step_account& mine, std::span<exact_sum> sums) {
  if (net.is_alone()) return mine;
  const std::vector<double> result = net.all_reduce(written(mine, sums), combined);
  std::fill(sums.begin(), sums.end(), exact_sum());
  return read(result, sums);
}

}  // namespace plx::star
