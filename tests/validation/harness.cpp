#include "harness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "rt/for_loop.hpp"
#include "star/problems/test/error_norms.hpp"

namespace plx::star::validation {

runtime& tasks() {
  static runtime rt({.workers = 2});
  return rt;
}

solved::solved(const std::string& name, const std::vector<std::string>& sets, runtime& rt) {
  auto in = input::from_file(PLX_INPUTS + name + ".toml", sets);
  if (!in) throw std::runtime_error(in.error().message);
  in_ = *std::move(in);
  auto checked = in_->prepare();
  if (!checked) throw std::runtime_error(checked.error().message);
  setup_ = std::make_unique<setup>(*std::move(checked));
  sim_ = std::make_unique<simulation>(*in_, *setup_, rt);
  if (auto taken = sim_->take_device(); !taken) throw std::runtime_error(taken.error().message);
}

solved& solved::run() {
  sim_->start();
  while (!sim_->finished())
    if (auto r = sim_->step(); !r) {
      ADD_FAILURE() << r.error().message;
      break;
    }
  sim_->fetch();
  return *this;
}

error_norms solved::norms() const {
  const gas& g = sim_->state();
  const int n = g.mesh.block_size();
  runtime& rt = sim_->tasks();
  std::vector<error_norms> parts(rt.worker_count(), error_norms(exact()));
  const auto blocks = g.mesh.blocks();
  rt.run([&] {
    for_loop(std::size_t{0}, blocks.size(), [&](std::size_t p) {
      std::array<std::vector<double>, 3> centre;
      block_cells cells{n, g.mesh.cell_width(blocks[p]), {}};
      for (int axis = 0; axis < 3; ++axis) {
        for (int i = 0; i < n; ++i) centre[axis].push_back(g.mesh.centre(blocks[p], axis, i));
        cells.centre[axis] = centre[axis].data();
      }
      parts[*worker_index()].add_block(cells, sim_->time(), g.now.block(blocks[p]));
    });
  });
  for (std::size_t i = 1; i < parts.size(); ++i) parts[0].merge(parts[i]);
  return parts[0];
}

double solved::l1(int variable) const { return norms().l1(variable); }
double solved::l1_all() const { return norms().l1_all(); }

void for_cells(const gas& g,
               const std::function<void(const double* u, double x, double y, double z, double width)>& f) {
  const int n = g.mesh.block_size();
  for (const mesh::slot_id slot : g.own())
    for (int c = 0; c < g.now.cells(); ++c)
      f(g.now.block(slot) + c, g.mesh.centre(slot, 0, c % n), g.mesh.centre(slot, 1, c / n % n),
        g.mesh.centre(slot, 2, c / n / n), g.mesh.cell_width(slot));
}

bool symmetric_about_diagonal(const gas& g) {
  const std::ptrdiff_t cells = g.now.cells();
  const int n = g.mesh.block_size();
  for (const mesh::slot_id slot : g.own()) {
    mesh::location l = g.mesh.where(slot);
    std::swap(l.x[0], l.x[1]);
    const mesh::slot_id other = g.mesh.find(l);
    const double *u = g.now.block(slot), *w = g.now.block(other);
    for (int v = 0; v < g.now.variable_count(); ++v) {
      const int across = v == i_momentum ? i_momentum + 1 : v == i_momentum + 1 ? i_momentum : v;
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i)
            if (u[v * cells + (k * n + j) * n + i] != w[across * cells + (k * n + i) * n + j]) return false;
    }
  }
  return true;
}

double order_of(double coarse, double fine) { return std::log2(coarse / fine); }

std::string array(const std::vector<double>& values) { return fmt::format("[{}]", fmt::join(values, ",")); }

table::table(std::string title) : title_(std::move(title)) {
  lines_.push_back(fmt::format("{:<64}{:>12}{:>8}{:>16}", title_, "value", "order", "must be"));
}

table::~table() {
  std::string text;
  for (const std::string& l : lines_) text += l.substr(0, l.find_last_not_of(' ') + 1) + "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::ofstream(fmt::format("{}{}.{}.table", PLX_TABLES, test->test_suite_name(), test->name())) << text;
}

void table::add(const std::string& what, const std::string& value, const std::string& order, const std::string& bound,
                bool fine) {
  lines_.push_back(fmt::format("  {:<62}{:>12}{:>8}{:>16}{}", what, value, order, bound, fine ? "" : "   <-- MISSED"));
  EXPECT_TRUE(fine) << lines_.back();
}

void table::at_most(const std::string& what, double error, double bound) {
  add(what, fmt::format("{:.3e}", error), "", fmt::format("<= {:.2e}", bound), error <= bound);
}

void table::with_order(const std::string& what, double error, double coarser, double least_order) {
  const double order = order_of(coarser, error);
  add(what, fmt::format("{:.3e}", error), fmt::format("{:.2f}", order), fmt::format("order >= {:.2f}", least_order),
      order >= least_order);
}

void table::at_least(const std::string& what, double value, double bound) {
  add(what, fmt::format("{:.3e}", value), "", fmt::format(">= {:.2e}", bound), value >= bound);
}

void table::holds(const std::string& what, bool yes) { add(what, yes ? "yes" : "no", "", "yes", yes); }

void table::note(const std::string& what, double value) { add(what, fmt::format("{:.3e}", value), "", "", true); }

}  // namespace plx::star::validation
