// Mirrored, rotated and permuted initial states give the mirrored, rotated and permuted result, to the last bit,
// including the mesh.
#include <fmt/format.h>

#include <array>
#include <span>

#include "harness.hpp"

namespace plx::star::validation {
namespace {

// Axis a of the new state is axis `from[a]` of the old one, reversed if `flip[a]`.
struct turn {
  const char* name;
  std::array<int, 3> from;
  std::array<bool, 3> flip;
};

constexpr turn turns[] = {{"mirrored along x", {0, 1, 2}, {true, false, false}},
                          {"mirrored along y and z", {0, 1, 2}, {false, true, true}},
                          {"axes permuted cyclically", {1, 2, 0}, {false, false, false}},
                          {"x and z exchanged", {2, 1, 0}, {false, false, false}},
                          {"rotated by 90 degrees about z", {1, 0, 2}, {true, false, false}}};

template <class T>
std::array<T, 3> turned(const std::array<T, 3>& v, const turn& t) {
  std::array<T, 3> w{};
  for (int a = 0; a < 3; ++a) w[a] = t.flip[a] ? -v[t.from[a]] : v[t.from[a]];
  return w;
}

/// The number of cells that differ between `b` and the transformed `a`, including blocks that only one of them has.
int differences(const gas& a, const gas& b, const turn& t) {
  if (a.mesh.block_count() != b.mesh.block_count()) return -1;
  int count = 0;
  const int n = a.mesh.block_size();
  const std::ptrdiff_t cells = a.now.cells();
  for (const mesh::slot_id s : a.mesh.blocks()) {
    const mesh::location& l = a.mesh.where(s);
    mesh::location other{l.level, {}};
    for (int x = 0; x < 3; ++x) {
      const auto along = static_cast<std::int32_t>(a.mesh.box().blocks_along(x, l.level));
      other.x[x] = t.flip[x] ? along - 1 - l.x[t.from[x]] : l.x[t.from[x]];
    }
    const mesh::slot_id o = b.mesh.find(other);
    if (o == mesh::no_slot) return -1;
    for (int c = 0; c < n * n * n; ++c) {
      const std::array<int, 3> at{c % n, c / n % n, c / n / n};
      std::array<int, 3> to{};
      for (int x = 0; x < 3; ++x) to[x] = t.flip[x] ? n - 1 - at[t.from[x]] : at[t.from[x]];
      const double* u = a.now.block(s) + c;
      const double* w = b.now.block(o) + (to[2] * n + to[1]) * n + to[0];
      bool same = true;
      for (const int v : {i_density, i_energy, i_tracer}) same = same && u[v * cells] == w[v * cells];
      const auto m = turned<double>({u[1 * cells], u[2 * cells], u[3 * cells]}, t);
      for (int x = 0; x < 3; ++x) same = same && m[x] == w[(1 + x) * cells];
      count += same ? 0 : 1;
    }
  }
  return count;
}

void check(table& rows, const std::string& what, const std::vector<std::string>& sets,
           std::span<const turn> applied = turns) {
  const std::array<double, 3> centre{0.11, -0.07, 0.19};
  const auto run_at = [&](const std::array<double, 3>& c) {
    auto all = sets;
    all.push_back("sedov.centre=" + array({c[0], c[1], c[2]}));
    auto s = std::make_unique<solved>("sedov", all);
    s->run();
    return s;
  };
  const auto first = run_at(centre);
  rows.note(what + ": blocks", double(first->sim().state().mesh.block_count()));
  for (const turn& t : applied)
    rows.holds(fmt::format("{}: {}", what, t.name),
               differences(first->sim().state(), run_at(turned(centre, t))->sim().state(), t) == 0);
}

TEST(Symmetry, BlastOffTheCentre) {
  table t("symmetry to the last bit: a blast off the centre, reflecting sides, 40 steps");
  const std::string reflecting =
      R"(mesh.sides=["reflecting","reflecting","reflecting","reflecting","reflecting","reflecting"])";
  check(t, "uniform 32^3", {"mesh.max_level=0", "mesh.root_blocks=[4,4,4]", "run.max_steps=40", reflecting});
  check(t, "two levels", {"mesh.max_level=2", "run.max_steps=40", "refinement.interval=2", reflecting});
}

TEST(Symmetry, BlastWithFull3d) {
  table t("symmetry to the last bit, full3d: a blast off the centre, reflecting sides, 10 steps");
  const std::string reflecting =
      R"(mesh.sides=["reflecting","reflecting","reflecting","reflecting","reflecting","reflecting"])";
  check(t, "two levels", {full3d, "mesh.max_level=2", "run.max_steps=10", "refinement.interval=2", reflecting},
        std::span(turns).subspan(2));
}

}  // namespace
}  // namespace plx::star::validation
