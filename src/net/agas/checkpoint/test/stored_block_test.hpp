// The objects of the tests of checkpoints: their contents follow from their key and a version.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "net/archive.hpp"
#include "net/checkpoint.hpp"
#include "net/component.hpp"
#include "net/locality.hpp"

namespace plx::stored_test {

constexpr int n_blocks = 11;

/// Large and small members, and a key of another object.
struct block {
  int number = 0, version = 0;
  std::vector<double> cells;
  std::vector<std::string> next;
  bool throws = false;

  block() = default;
  block(int n, int v) : number(n), version(v), cells(static_cast<std::size_t>(n) * 97) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = n + v * 1e-3 + static_cast<double>(i);
    next = {"block " + std::to_string(n + 1), std::string(static_cast<std::size_t>(n), 'x')};
  }
  friend bool operator==(const block& a, const block& b) {
    return std::tie(a.number, a.version, a.cells, a.next) == std::tie(b.number, b.version, b.cells, b.next);
  }
  block value() const { return *this; }
  void fail_next() { throws = true; }
  template <class Archive>
  void serialize(Archive& archive) {
    if (throws) throw std::runtime_error("the cells are on a device");
    archive(number, version, cells, next);
  }
};
struct counter {
  int n = 0;
  int get() const { return n; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(n);
  }
};
struct pointing {
  global<counter> to;
  void point(const global<counter>& c) { to = c; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(to);
  }
};

using named_blocks = std::vector<std::pair<std::string, global<block>>>;

inline std::string key_of(int number) { return "block " + std::to_string(number); }
/// Blocks number here, here + n, ... below `count`, of this version.
inline named_blocks make_blocks(int count, int version, int n) {
  named_blocks made;
  for (int i = static_cast<int>(find_here()); i < count; i += n)
    made.emplace_back(key_of(i), new_<block>(find_here(), i, version).get());
  return made;
}
inline checkpoint_set set_of(const named_blocks& blocks) {
  checkpoint_set s;
  for (const auto& [key, b] : blocks) s.add(key, b);
  return s;
}
/// Whether the members together have each block once, with what belongs to its key and version, here and by key.
/// Returns the common version; -1: something is wrong. Collective.
inline int common_version(const restored_objects& back, int count) {
  std::vector<int> seen(static_cast<std::size_t>(count), 0);
  int version = -2;
  const auto check = [&](const std::string& key, const global<block>& b) {
    const block value = async<&block::value>(b).get();
    if (value.number < 0 || value.number >= count || key != key_of(value.number)) return false;
    if (version == -2) version = value.version;
    return value == block(value.number, version);
  };
  bool right = true;
  for (const auto& [key, b] : back.local<block>()) {
    right &= check(key, b) && locate(b).get() == find_here();
    if (right) ++seen[static_cast<std::size_t>(std::stoi(key.substr(6)))];
  }
  std::vector<std::string> keys{"none"};
  for (int i = 0; i < count; ++i) keys.push_back(key_of((i + static_cast<int>(find_here())) % count));
  const auto found = back.find<block>(keys);
  right &= !found[0];
  for (std::size_t i = 1; i < keys.size(); ++i) right &= found[i] && check(keys[i], found[i]);
  const auto sums = back.members().all_reduce(seen, elementwise([](int a, int b) { return a + b; })).get();
  right &= sums == std::vector<int>(static_cast<std::size_t>(count), 1);
  const std::vector<int> all = back.members().all_gather(right ? version : -1).get();
  for (const int v : all)
    if (v != all[0]) return -1;
  return all[0];
}
/// The message of the checkpoint_error that f throws; "no error" if it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const checkpoint_error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace plx::stored_test
