#include "for_loop/for_loop.hpp"

double iterate(double x) {
  for (int k = 0; k < 8; ++k) x = x * 0.999 + 0.001;
  return x;
}
