// A program outside the repository that uses a device: the reference device, which is available on every machine.
#include <cstdio>

#include "gpu/executor.hpp"
#include "rt/runtime.hpp"

namespace {

struct square_item {
  double x;
  double* to;
};
void square(const square_item& i) { *i.to = i.x * i.x; }
constexpr auto square_operation = plx::gpu::cpu_operation<square_item, square>("square");

}  // namespace

int main() {
  plx::runtime rt;
  plx::gpu::device d(rt);
  double y = 0;
  rt.run([&] { plx::async(plx::gpu::executor(d), square_operation, square_item{3, &y}).get(); });
  std::printf("%s: %g\n", d.label().data(), y);
  return y == 9 ? 0 : 1;
}
