#include "library/contest.hpp"

namespace {

long recurse(int n) { return n < 2 ? n : recurse(n - 1) + recurse(n - 2); }

const plx::bench::entry<long(int)> me("serial", recurse);

}  // namespace
