// The other file of equal_names_test.cpp.
#include "net/component.hpp"

namespace equal_names {
namespace {
int f(int x) { return -x - 1; }
struct thing {
  int get(int x) { return -x - 10; }
};
}  // namespace
static int g(int x) { return -x - 100; }

int others_in_unnamed(plx::locality_id to, int x) { return plx::async<&f>(to, x).get(); }
int others_static(plx::locality_id to, int x) { return plx::async<&g>(to, x).get(); }
int others_member(plx::locality_id to, int x) { return plx::async<&thing::get>(plx::new_<thing>(to).get(), x).get(); }

}  // namespace equal_names
