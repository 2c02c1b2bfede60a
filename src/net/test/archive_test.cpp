#include "net/archive.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <stdexcept>

#include "net/action.hpp"
#include "net/core/plain_archive.hpp"
#include "net/test/threads_test.hpp"

#if __has_include(<cereal/cereal.hpp>)
#include <cereal/types/list.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>
#define WITH_CEREAL 1
#else
#define WITH_CEREAL 0
#endif

namespace archive_test {

struct particle {
  std::string name;
  std::vector<double> orbit;
  std::optional<int> charge;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, orbit, charge);
  }
  friend bool operator==(const particle&, const particle&) = default;
};

// Uses the values in load(): they must be available at once.
struct summed {
  std::vector<double> values;
  double sum = 0;
  template <class Archive>
  void save(Archive& archive) const {
    const std::vector<double> doubled = twice();  // a temporary
    archive(doubled);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(values);
    sum = std::accumulate(values.begin(), values.end(), 0.0);
  }
  [[nodiscard]] std::vector<double> twice() const {
    std::vector<double> v = values;
    for (double& x : v) x *= 2;
    return v;
  }
};

// A type of unbounded depth.
struct tree {
  int value = 0;
  std::vector<tree> children;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, children);
  }
  [[nodiscard]] unsigned depth() const { return children.empty() ? 1 : 1 + children[0].depth(); }
  static tree of(unsigned levels) {
    tree t;
    for (unsigned i = 1; i < levels; ++i) {
      tree above;
      above.children.push_back(std::move(t));
      t = std::move(above);
    }
    return t;
  }
};

struct free_functions {
  int a = 0, b = 0;
};
template <class Archive>
void serialize(Archive& archive, free_functions& f) {
  archive& f.a& f.b;
}

struct holder {
  particle one;
  std::pair<int, std::vector<float>> two;
  std::array<free_functions, 1>* unused = nullptr;
  free_functions three;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(one, two, three);
  }
};

struct picky {
  int x = 0;
  template <class Archive>
  void save(Archive& archive) const {
    archive(x);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(x);
    if (x < 0) throw std::invalid_argument("negative");
  }
};

particle renamed(particle p, const std::string& name) {
  p.name = name;
  return p;
}
double sum_of(const summed& s) { return s.sum; }
std::size_t count_of(const std::vector<particle>& all) {
  std::size_t n = 0;
  for (const auto& p : all) n += p.orbit.size() + static_cast<std::size_t>(p.orbit.back());
  return n;
}
int x_of(const picky& p) { return p.x; }

}  // namespace archive_test

namespace plx::net {
namespace {

using namespace archive_test;

template <class Out, class In, class T>
bool copied(const T& from, T& to, std::size_t cut = 0) {
  std::vector<std::byte> memory(1 << 20);
  wire_writer w(memory);
  Out(w).as_root(from);
  EXPECT_FALSE(w.overflowed());
  wire_reader r(std::span<const std::byte>(memory).first(w.used() - cut));
  In(r).as_root(to);
  return r.complete();
}

template <class Out, class In>
void check_types() {
  const particle p{"electron", {1, 2, 3}, -1};
  particle q;
  EXPECT_TRUE((copied<Out, In>(p, q)));
  EXPECT_EQ(p, q);
  summed s{{1, 2, 3}, 0}, t;
  EXPECT_TRUE((copied<Out, In>(s, t)));
  EXPECT_EQ(t.sum, 12);
  holder h{p, {7, {0.5f}}, nullptr, {1, 2}}, i;
  EXPECT_TRUE((copied<Out, In>(h, i)));
  EXPECT_EQ(i.one, p);
  EXPECT_EQ(i.two, h.two);
  EXPECT_EQ(i.three.b, 2);
  picky bad{-1}, read;
  EXPECT_FALSE((copied<Out, In>(bad, read)));
}

TEST(Archive, MembersAndFreeFunctionsAreFound) { check_types<output_archive, input_archive>(); }
TEST(Archive, TheSameWithoutCereal) {
  check_types<plain_output_archive, plain_input_archive>();
  static_assert(is_plainly_archived<particle> && is_plainly_archived<summed> && is_plainly_archived<free_functions>);
  static_assert(!is_plainly_archived<std::vector<int>*>);
}

TEST(Archive, TypesWithoutFunctionsCannotBeSent) {
  struct nothing {
    int* p;
  };
  static_assert(!can_travel<nothing> && can_travel<particle> && can_travel<std::vector<particle>>);
}

TEST(Archive, DetectsEveryTruncation) {
  const holder h{{"electron", {1, 2, 3}, -1}, {7, {0.5f}}, nullptr, {1, 2}};
  for (std::size_t cut = 1; cut < 70; ++cut) {
    holder i;
    EXPECT_FALSE((copied<output_archive, input_archive>(h, i, cut))) << cut;
    EXPECT_FALSE((copied<plain_output_archive, plain_input_archive>(h, i, cut))) << cut;
  }
}

// Returns the number of pieces of a value; `copy` is read back from the message.
template <class T>
std::size_t pieces_of(const T& value, T& copy) {
  std::vector<std::byte> memory(1 << 20);
  std::vector<piece> pieces;
  wire_writer w(memory, &pieces);
  write(w, value);
  std::vector<place> places;
  for (const piece& p : pieces) places.push_back({nullptr, p.size_bytes});
  wire_reader r(std::span<const std::byte>(memory).first(w.used()), places);
  read(r, copy);
  EXPECT_TRUE(r.complete());
  for (std::size_t i = 0; i < pieces.size(); ++i) std::memcpy(places[i].data, pieces[i].data, pieces[i].size_bytes);
  return pieces.size();
}

TEST(Archive, OnlyDataInStableMemoryBecomePieces) {
  const particle p{"electron", std::vector<double>(1000, 0.5), 3};
  particle q;
  EXPECT_EQ(pieces_of(p, q), 1u);
  EXPECT_EQ(p, q);
  std::tuple<int, particle> t;
  EXPECT_EQ(pieces_of(std::tuple(1, p), t), 1u);
  EXPECT_EQ(std::get<1>(t), p);
  // Elements move when the vector grows, and a save() function may write from temporary memory.
  std::vector<particle> all;
  EXPECT_EQ(pieces_of(std::vector<particle>{p, p, p}, all), 0u);
  EXPECT_EQ(all, (std::vector<particle>{p, p, p}));
  std::vector<std::vector<double>> rows;
  EXPECT_EQ(pieces_of(std::vector<std::vector<double>>{p.orbit, p.orbit}, rows), 2u);
  EXPECT_EQ(rows[1], p.orbit);
  summed s;
  EXPECT_EQ(pieces_of(summed{p.orbit, 0}, s), 0u);
  EXPECT_EQ(s.sum, 1000);
}

// The message determines the depth of a tree: it must not overflow the stack.
TEST(Archive, TreesAboveTheMaximumDepthAreRefused) {
  const auto read_back = [](unsigned levels) {
    std::vector<std::byte> memory(1 << 20);
    wire_writer w(memory);
    write(w, tree::of(levels));
    wire_reader r{std::span<const std::byte>(memory.data(), w.used())};
    tree t;
    read(r, t);
    return r.complete() ? t.depth() : 0;
  };
  for (const unsigned levels : {1u, 2u, 50u}) EXPECT_EQ(read_back(levels), levels);
  EXPECT_EQ(read_back(most_wire_depth + 1), 0u);
  // A malicious message with 12 bytes for each level: a value, and one child.
  std::vector<std::byte> noise;
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint32_t value = 1;
    const std::uint64_t one = 1;
    const auto put = [&noise](const auto& x) {
      const auto b = std::as_bytes(std::span(&x, 1));
      noise.insert(noise.end(), b.begin(), b.end());
    };
    put(value), put(one);
  }
  const auto deep = [&](auto as) {
    wire_reader r(noise);
    tree t;
    decltype(as)(r).as_root(t);
    return r.failed();
  };
  wire_reader unused({});
  EXPECT_TRUE(deep(input_archive(unused)));
  EXPECT_TRUE(deep(plain_input_archive(unused)));
}

TEST(Archive, TypesAreArgumentsAndResults) {
  test::localities all(2);
  all.run(0, [] {
    const particle p{"electron", std::vector<double>(1000, 1.0), {}};
    const particle q = async<&renamed>(1, p, "muon").get();
    EXPECT_EQ(q.name, "muon");
    EXPECT_EQ(q.orbit, p.orbit);
    EXPECT_EQ(async<&sum_of>(1, summed{p.orbit, 0}).get(), 2000);
    EXPECT_EQ(async<&count_of>(1, std::vector<particle>(20, p)).get(), 20u * 1001);
    EXPECT_EQ(async<&x_of>(1, picky{3}).get(), 3);
    EXPECT_THROW(async<&x_of>(1, picky{-3}).get(), std::exception);  // refused by the other locality, which reports it
  });
}

#if WITH_CEREAL

struct shape {
  virtual ~shape() = default;
  [[nodiscard]] virtual double area() const = 0;
};
struct square final : shape {
  double side = 0;
  [[nodiscard]] double area() const override { return side * side; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(side));
  }
};
class closed {
 public:
  int value = 0;

 private:
  friend class cereal::access;
  template <class Archive>
  void serialize(Archive& archive, const std::uint32_t version) {
    archive(value);
    value += static_cast<int>(version);
  }
};
struct blob {
  std::array<double, 1000> values{};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::binary_data(values.data(), sizeof values));
  }
};
struct node_of_list {
  int value = 0;
  std::shared_ptr<node_of_list> next;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, next);
  }
};
using many = std::tuple<std::map<std::string, particle>, std::variant<int, std::string>, std::list<double>>;

TEST(Archive, StandardTypesAreSentByCereal) {
  many m, copy;
  std::get<0>(m)["e"] = {"electron", std::vector<double>(1000, 2.0), 1};
  std::get<1>(m) = "text";
  std::get<2>(m) = {1, 2, 3};
  EXPECT_EQ(pieces_of(m, copy), 0u);
  EXPECT_EQ(m, copy);
  std::vector<std::shared_ptr<int>> pointers = {std::make_shared<int>(3), nullptr}, back;
  EXPECT_EQ(pieces_of(pointers, back), 0u);
  EXPECT_EQ(*back[0], 3);
  EXPECT_EQ(back[1], nullptr);
}

TEST(Archive, PolymorphicPointersVersionsAndFriends) {
  auto s = std::make_unique<square>();
  s->side = 3;
  std::unique_ptr<shape> from = std::move(s), to;
  pieces_of(from, to);
  EXPECT_EQ(to->area(), 9);
  closed c, d;
  c.value = 5;
  pieces_of(c, d);
  EXPECT_EQ(d.value, 5 + 2);
  EXPECT_EQ(c.value, 5 + 2);  // one function reads and writes
  auto first = std::make_shared<node_of_list>();
  first->value = 7, first->next = first;
  std::shared_ptr<node_of_list> again;
  pieces_of(first, again);
  EXPECT_EQ(again->next.get(), again.get());
  again->next.reset(), first->next.reset();
}

TEST(Archive, BinaryDataInPlaceArePieces) {
  blob b, c;
  std::iota(b.values.begin(), b.values.end(), 0.0);
  EXPECT_EQ(pieces_of(b, c), 1u);
  EXPECT_EQ(b.values, c.values);
  std::vector<blob> several;
  EXPECT_EQ(pieces_of(std::vector<blob>{b, b}, several), 0u);
  EXPECT_EQ(several[1].values, b.values);
}

TEST(Archive, InvalidSizesAllocateNothing) {
  for (const std::uint64_t size : {std::uint64_t{100}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    std::array<std::byte, 32> memory{};
    std::memcpy(memory.data(), &size, sizeof size);
    std::map<int, double> m;
    std::list<particle> l;
    wire_reader a(memory), b(memory);
    read(a, m), read(b, l);
    EXPECT_TRUE(a.failed() && b.failed());
    EXPECT_TRUE(m.empty() && l.empty());
  }
}

TEST(Archive, RandomBytesAreReadSafely) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 20000; ++turn) {
    std::vector<std::byte> noise(random() % 96);
    for (auto& b : noise) b = static_cast<std::byte>(random() % 4 == 0 ? random() : random() % 3);
    std::tuple<many, std::unique_ptr<shape>, std::vector<std::shared_ptr<particle>>> t;
    wire_reader r(noise);
    read(r, t);
    ASSERT_LE(std::get<2>(std::get<0>(t)).size(), noise.size());
  }
}

#endif

}  // namespace
}  // namespace plx::net

#if WITH_CEREAL
CEREAL_CLASS_VERSION(plx::net::closed, 2)
CEREAL_REGISTER_TYPE(plx::net::square)
CEREAL_REGISTER_POLYMORPHIC_RELATION(plx::net::shape, plx::net::square)
#endif
