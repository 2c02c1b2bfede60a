#include "num/saved_numbers.hpp"

#include <gtest/gtest.h>

#include "num/statistics.hpp"

namespace plx {
namespace {

TEST(SavedNumbers, AreReadBackWithTheSameBits) {
  std::vector<double> all;
  number_writer w(all);
  real_matrix m(5, 3);
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 5; ++i) m(i, j) = 0.1 * i - j;
  m.resize(2, 3);
  w.add(-0.0);
  w.add(std::vector<double>{0.1, 0.2});
  w.add(m);
  w.add_unsigned(0xfedcba9876543210);
  number_reader r(all);
  EXPECT_TRUE(std::signbit(r.number()));
  EXPECT_EQ(r.numbers(), (std::vector<double>{0.1, 0.2}));
  EXPECT_FALSE(r.is_complete());
  const auto same = r.matrix();
  EXPECT_EQ(same.stride(), 5);
  EXPECT_EQ(same.rows(), 2);
  EXPECT_EQ(same(1, 2), m(1, 2));
  EXPECT_FALSE(r.is_complete());
  EXPECT_EQ(r.unsigned_integer(), 0xfedcba9876543210);
  EXPECT_TRUE(r.is_complete());
}

TEST(SavedNumbers, ListsThatAreTooShortAreRecognized) {
  const std::vector<double> damaged[] = {{}, {3, 1, 2}, {-1}, {1e300}, {2, 2, 2, 1}, {0, 0}};
  for (const auto& list : damaged) {
    number_reader r(list);
    r.numbers();
    EXPECT_FALSE(r.is_complete());
    number_reader s(list);
    s.matrix();
    EXPECT_FALSE(s.is_complete());
  }
}

TEST(SavedNumbers, ASeriesContinues) {
  binning whole, first, second;
  for (int i = 0; i < 77; ++i) whole.add(i * i % 13), first.add(i * i % 13);
  std::vector<double> saved;
  number_writer w(saved);
  first.save(w);
  number_reader r(saved);
  second.load(r);
  EXPECT_TRUE(r.is_complete());
  for (int i = 0; i < 100; ++i) whole.add(i % 7), second.add(i % 7);
  EXPECT_EQ(second.count(), whole.count());
  EXPECT_EQ(second.error(), whole.error());
  EXPECT_EQ(second.autocorrelation_time(), whole.autocorrelation_time());
}

}  // namespace
}  // namespace plx
