// Entries that use the standard library's threads, or no threads.
#include "library/contest.hpp"

namespace plx::bench {
namespace {

const library std_library(
    "std", nullptr, [](unsigned) {}, [] {});
const library serial_library(
    "serial", nullptr, [](unsigned) {}, [] {});

}  // namespace
}  // namespace plx::bench
