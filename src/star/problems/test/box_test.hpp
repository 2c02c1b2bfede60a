// Test fixtures: a uniform mesh of one large "block" over a box, and problems made from "key=value" lines.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "star/problems/registry.hpp"

namespace plx::star::test {

inline std::unique_ptr<problem> prepared(const std::string& name, const std::vector<std::string>& assignments = {},
                                         const problem_setting& setting = {}) {
  auto p = make_problem(name).value();
  config_table table;
  p->describe(table);
  for (const std::string& a : assignments) table.set(a).value();
  p->prepare(setting).value();
  return p;
}

/// Does the problem refuse this option?
inline bool is_refused(const std::string& name, const std::string& assignment) {
  auto p = make_problem(name).value();
  config_table table;
  p->describe(table);
  table.set(assignment).value();
  return !p->prepare({});
}

/// n^3 cells over a cube around the origin.
class box {
 public:
  explicit box(int n, double edge = 1) : n_(n), width_(edge / n), centres_(n) {
    for (int i = 0; i < n; ++i) centres_[i] = (2 * i + 1 - n) * (0.5 * width_);
  }
  block_cells cells() const { return {n_, width_, {centres_.data(), centres_.data(), centres_.data()}}; }
  std::size_t size() const { return static_cast<std::size_t>(n_) * n_ * n_; }
  int at(int i, int j, int k) const { return (k * n_ + j) * n_ + i; }
  double volume() const { return width_ * width_ * width_; }
  int n() const { return n_; }

  std::vector<double> fill(const problem& p, double t = 0) const {
    std::vector<double> u(size() * variable_count(p.species_count()));
    fill_block(p, cells(), t, u.data());
    return u;
  }

 private:
  int n_;
  double width_;
  std::vector<double> centres_;
};

}  // namespace plx::star::test
