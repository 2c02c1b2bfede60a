// An object that every locality can call, and that moves: its id stays valid. Run it alone, or under mpirun -n 2.
#include <cstdio>
#include <numeric>
#include <vector>

#include "net/archive.hpp"
#include "net/component.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "net/names.hpp"

class block {
 public:
  block() = default;
  explicit block(int cells) : density_(static_cast<std::size_t>(cells), 1.0) {}

  void heat(double by) {
    for (double& d : density_) d += by;
  }
  double mass() const { return std::accumulate(density_.begin(), density_.end(), 0.0); }

  // How it is serialized when it moves.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(density_);
  }

 private:
  std::vector<double> density_;
};

int main(int argc, char** argv) {
  try {
    plx::job job(argc, argv);
    job.run_root([] {
      const plx::locality_id last = plx::locality_count() - 1;
      plx::global<block> b = plx::new_<block>(last, 1000).get();
      plx::async<&block::heat>(b, 0.5).get();
      std::printf("mass %g\n", plx::async<&block::mass>(b).get());

      plx::migrate(b, plx::find_root_locality()).get();
      std::printf("it lives on locality %u\n", plx::locate(b).get());
      if (const auto here = plx::get_ptr(b)) std::printf("mass %g\n", here->mass());  // pins the object

      // A name keeps it alive, and every locality can find it.
      const bool free = plx::register_as("the block", b).get();
      b = {};
      const auto found = plx::find<block>("the block").get();
      std::printf("%s, mass %g\n", free ? "registered" : "taken", plx::async<&block::mass>(found).get());
      plx::unregister("the block").get();
    });
  } catch (const plx::job_error& e) {
    return e.report("18_components");
  }
}

// Output:
//   mass 1500
//   it lives on locality 0
//   mass 1500
//   registered, mass 1500
