// Tiled factorization of a matrix, a task per operation on a tile, with futures (plx), a flow graph (oneTBB), depend
// clauses (OpenMP). cholesky/LIBRARY: ms of wall time, with tiles of 32 x 32 (about 10 us of work per task); /t64: the
// same matrix in tiles of 64 x 64.
#include <cmath>
#include <cstddef>
#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/dataflow.hpp"
#include "rt/when.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/flow_graph.h>
#endif

namespace {

using plx::bench::entry;

// A symmetric positive definite matrix in square tiles, and the tile operations of the factorization A = L L^T.
// The kernels are plain loops: the same for every library, and single-threaded.
namespace cholesky {

class matrix {
 public:
  /// n_tiles x n_tiles tiles of edge x edge; the lower triangle holds the values of one fixed matrix.
  matrix(int n_tiles, int edge);
  [[nodiscard]] int n_tiles() const { return n_tiles_; }
  [[nodiscard]] int edge() const { return edge_; }
  /// Row-major. Requires: i >= j.
  [[nodiscard]] double* tile(int i, int j) {
    return values_.data() + (static_cast<std::size_t>(i) * n_tiles_ + j) * edge_ * edge_;
  }
  friend bool operator==(const matrix&, const matrix&) = default;

  void potrf(int k) { factor(tile(k, k)); }                                           // L of the diagonal tile
  void trsm(int k, int i) { solve(tile(k, k), tile(i, k)); }                          // panel below it; reads (k,k)
  void update(int k, int i, int j) { multiply(tile(i, k), tile(j, k), tile(i, j)); }  // reads (i,k), (j,k)

 private:
  PLX_BENCH_OPAQUE void factor(double* a) const;
  PLX_BENCH_OPAQUE void solve(const double* l, double* a) const;
  PLX_BENCH_OPAQUE void multiply(const double* a, const double* b, double* c) const;

  int n_tiles_, edge_;
  std::vector<double> values_;
};

matrix::matrix(int n_tiles, int edge)
    : n_tiles_(n_tiles), edge_(edge), values_(static_cast<std::size_t>(n_tiles) * n_tiles * edge * edge) {
  const int n = n_tiles * edge;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j)  // dominated by its diagonal, hence positive definite
      tile(i / edge, j / edge)[(i % edge) * edge + j % edge] = i == j ? n : 1.0 / (1 + (i * 7 + j * 13) % 10);
}

void matrix::factor(double* a) const {
  const int n = edge_;
  for (int j = 0; j < n; ++j) {
    double sum = a[j * n + j];
    for (int k = 0; k < j; ++k) sum -= a[j * n + k] * a[j * n + k];
    const double diagonal = a[j * n + j] = std::sqrt(sum);
    for (int i = j + 1; i < n; ++i) {
      double s = a[i * n + j];
      for (int k = 0; k < j; ++k) s -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = s / diagonal;
    }
  }
}

void matrix::solve(const double* l, double* a) const {
  const int n = edge_;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double s = a[i * n + j];
      for (int k = 0; k < j; ++k) s -= a[i * n + k] * l[j * n + k];
      a[i * n + j] = s / l[j * n + j];
    }
}

void matrix::multiply(const double* a, const double* b, double* __restrict c) const {
  const int n = edge_;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; j += 4) {
      double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      for (int k = 0; k < n; ++k) {
        const double x = a[i * n + k];
        s0 += x * b[j * n + k];
        s1 += x * b[(j + 1) * n + k];
        s2 += x * b[(j + 2) * n + k];
        s3 += x * b[(j + 3) * n + k];
      }
      c[i * n + j] -= s0;
      c[i * n + j + 1] -= s1;
      c[i * n + j + 2] -= s2;
      c[i * n + j + 3] -= s3;
    }
}

/// Replaces the lower triangle with L.
using cholesky_run = void(matrix&);

}  // namespace cholesky

// ---- plx: a future per tile, replaced by that of the next task that writes the tile.
namespace with_plx {

using done = plx::shared_future<void>;

void factor(cholesky::matrix& m) {
  const int n = m.n_tiles();
  std::vector<done> tiles(static_cast<std::size_t>(n * n), plx::make_ready_future().share());
  const auto tile = [&](int i, int j) -> done& { return tiles[static_cast<std::size_t>(i * n + j)]; };
  for (int k = 0; k < n; ++k) {
    tile(k, k) = plx::dataflow([&m, k](const done&) { m.potrf(k); }, tile(k, k));
    for (int i = k + 1; i < n; ++i)
      tile(i, k) = plx::dataflow([&m, k, i](const done&, const done&) { m.trsm(k, i); }, tile(k, k), tile(i, k));
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j)
        tile(i, j) = plx::dataflow([&m, k, i, j](const done&, const done&, const done&) { m.update(k, i, j); },
                                   tile(i, k), tile(j, k), tile(i, j));
  }
  for (const done& d : tiles) d.get();
}

const entry<cholesky::cholesky_run> me("plx",
                                       [](cholesky::matrix& m) { plx::bench::plx_runtime().run([&m] { factor(m); }); });

}  // namespace with_plx

#ifdef PLX_HAVE_TBB
// ---- oneTBB: a flow graph, a continue_node per task and an edge from the previous task that wrote a tile.
namespace with_tbb {

using tbb::flow::continue_msg;
using node = tbb::flow::continue_node<continue_msg>;

void factor(cholesky::matrix& m) {
  const int n = m.n_tiles();
  tbb::flow::graph g;
  tbb::flow::broadcast_node<continue_msg> start(g);
  std::deque<node> nodes;
  std::vector<node*> writers(static_cast<std::size_t>(n * n), nullptr);
  const auto writer = [&](int i, int j) -> node*& { return writers[static_cast<std::size_t>(i * n + j)]; };
  const auto after = [&](std::initializer_list<node*> before, auto work) {
    node& made = nodes.emplace_back(g, [work](const continue_msg&) { work(); });
    bool any = false;
    for (node* b : before)
      if (b != nullptr) {
        tbb::flow::make_edge(*b, made);
        any = true;
      }
    if (!any) tbb::flow::make_edge(start, made);
    return &made;
  };
  for (int k = 0; k < n; ++k) {
    writer(k, k) = after({writer(k, k)}, [&m, k] { m.potrf(k); });
    for (int i = k + 1; i < n; ++i) writer(i, k) = after({writer(k, k), writer(i, k)}, [&m, k, i] { m.trsm(k, i); });
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j) {
        node* const second = i == j ? nullptr : writer(j, k);
        writer(i, j) = after({writer(i, k), second, writer(i, j)}, [&m, k, i, j] { m.update(k, i, j); });
      }
  }
  start.try_put(continue_msg());
  g.wait_for_all();
}

const entry<cholesky::cholesky_run> me("tbb", [](cholesky::matrix& m) {
  plx::bench::tbb_arena().execute([&m] { factor(m); });
});

}  // namespace with_tbb
#endif

#ifdef _OPENMP
namespace with_openmp {

void factor(cholesky::matrix& m) {
  const int n = m.n_tiles();
  cholesky::matrix* const all = &m;
  for (int k = 0; k < n; ++k) {
    [[maybe_unused]] double* const diagonal = m.tile(k, k);
#pragma omp task firstprivate(all, k) depend(inout : diagonal[0])
    all->potrf(k);
    for (int i = k + 1; i < n; ++i) {
      [[maybe_unused]] double* const panel = m.tile(i, k);
#pragma omp task firstprivate(all, k, i) depend(in : diagonal[0]) depend(inout : panel[0])
      all->trsm(k, i);
    }
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j) {
        [[maybe_unused]] double *const a = m.tile(i, k), *const b = m.tile(j, k), *const c = m.tile(i, j);
#pragma omp task firstprivate(all, k, i, j) depend(in : a[0], b[0]) depend(inout : c[0])
        all->update(k, i, j);
      }
  }
}

const entry<cholesky::cholesky_run> me("omp", [](cholesky::matrix& m) {
#pragma omp parallel
#pragma omp single
  factor(m);
});

}  // namespace with_openmp
#endif

const entry<cholesky::cholesky_run> serial("serial", [](cholesky::matrix& m) {
  const int n = m.n_tiles();
  for (int k = 0; k < n; ++k) {
    m.potrf(k);
    for (int i = k + 1; i < n; ++i) m.trsm(k, i);
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j) m.update(k, i, j);
  }
});

// ---- measurement
using cholesky::cholesky_run;

void compete(plx::bench::contest& c, int edge, const std::string& suffix) {
  const int n_tiles = (c.quick ? 256 : 768) / edge;
  cholesky::matrix expected(n_tiles, edge);
  entry<cholesky_run>::all().back()->run(expected);  // serial
  const auto medians = plx::bench::in_turns<cholesky_run>(c, c.turns(7), [&](const entry<cholesky_run>& e) {
    cholesky::matrix warm(4, edge), m(n_tiles, edge);
    e.run(warm);
    const auto time = plx::bench::timed([&] { e.run(m); });
    plx::bench::expect_same(e.label, m, expected);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("cholesky/") + who->label + suffix, time.calm_s(who->is("serial") ? 1 : c.threads) * 1e3,
                  "ms", plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, 32, "");
  compete(c, 64, "/t64");
  return c.finish();
}
