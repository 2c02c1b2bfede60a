#include "mesh/between/halo.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "mesh/field/face_fluxes.hpp"
#include "mesh/test/test_meshes.hpp"

namespace {

using namespace plx::mesh;

constexpr int n = 8, variables = 3;

std::vector<double> random_face(std::mt19937_64& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> flux(variables * n * n);
  for (double& f : flux) f = uniform(rng);
  return flux;
}

// Corrections by each part separately equal those of one register for all, to the last bit; omitting fluxes changes the
// result.
TEST(FluxHalo, CorrectsAsOneRegisterDoes) {
  std::mt19937_64 rng(21);
  int sent = 0;
  for (int turn = 0; turn < 10; ++turn) {
    const block_mesh mesh = test::random_mesh(test::box({2, 1, 2}, n, 3, boundary::outflow), 10, rng);
    std::vector<std::int32_t> owner(mesh.block_count());
    const int count = 1 + turn % 5;
    for (auto& o : owner) o = static_cast<std::int32_t>(rng() % count);
    std::sort(owner.begin(), owner.end());
    const curve_parts parts(owner, count);

    flux_register whole(variables, n);
    whole.resize(mesh);
    std::vector<flux_register> registers(count, flux_register(variables, n));
    std::vector<flux_halo> halos;
    std::vector<std::vector<std::vector<double>>> messages(count);  // by part and group
    for (int p = 0; p < count; ++p) {
      registers[p].resize(mesh, parts.blocks(mesh, p));
      halos.emplace_back(mesh, parts, p, 5);
      for (const flux_group& g : halos[p].sends())
        messages[p].emplace_back(g.faces.size() * whole.quarter_doubles(), 1e300);
    }
    for (const slot_id s : mesh.blocks()) {
      const int p = parts.part_of(mesh, s);
      for (int f = 0; f < face_count; ++f) {
        if ((flux_register::wanted_faces(mesh, s) >> f & 1) == 0) continue;
        const std::vector<double> flux = random_face(rng);
        whole.put(mesh, s, f, flux.data());
        registers[p].put(mesh, s, f, flux.data());
      }
    }
    for (int p = 0; p < count; ++p)
      for (std::size_t g = 0; g < halos[p].sends().size(); ++g) {
        const auto& faces = halos[p].sends()[g].faces;
        for (std::size_t i = 0; i < faces.size(); ++i)
          std::copy_n(registers[p].coarsened(faces[i].fine, faces[i].face), whole.quarter_doubles(),
                      messages[p][g].data() + i * whole.quarter_doubles());
      }
    for (int p = 0; p < count; ++p)
      for (std::size_t g = 0; g < halos[p].sends().size(); ++g) {
        const flux_group& out = halos[p].sends()[g];
        const flux_halo& there = halos[out.peer];
        const flux_group& in = there.receives()[there.first_receive(p) + halos[p].number(static_cast<int>(g))];
        EXPECT_EQ(in.peer, p);
        ASSERT_EQ(in.faces, out.faces);
        EXPECT_LE(in.faces.size(), 5u);
        for (std::size_t i = 0; i < in.faces.size(); ++i, ++sent)
          registers[out.peer].put_coarsened(mesh, in.faces[i].fine, in.faces[i].face,
                                            messages[p][g].data() + i * whole.quarter_doubles());
      }
    for (const slot_id s : mesh.blocks()) {
      std::vector<double> expected(variables * n * n * n, 0.0), found = expected;
      whole.apply(mesh, s, 0.3, expected.data());
      registers[parts.part_of(mesh, s)].apply(mesh, s, 0.3, found.data());
      ASSERT_EQ(found, expected);
    }
  }
  EXPECT_GT(sent, 100);
}

}  // namespace
