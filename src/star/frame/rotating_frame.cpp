#include "star/frame/rotating_frame.hpp"

#include "base/config.hpp"
#include "star/device/portable_operation.hpp"
#include "star/frame/rotation_pass.hpp"

namespace plx::star {

void frame_options::describe(config_table& table) {
  table.section("frame", "Rotating frame");
  table.add(
      "frame.omega", omega,
      {.unit = "1/code time",
       .help = "angular velocity of the mesh about the z axis; velocities of problems and in files are those of an "
               "inertial frame, in the directions of the mesh"});
  table.add("frame.of_problem", of_problem,
            {.help = "the angular velocity is that of the stars of the problem (binary, rotating_star)"});
}

void rotating_frame::after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>&,
                                 gas_passes& on) const {
  r.add({.name = rotation_pass::name,
         .where = step::node_set::blocks,
         .reads = {{f.start}, {f.next}},
         .writes = {f.next},
         .kernel = on.portable(device::portable(rotation_pass{omega_, spin_}), f.stage)});
}

}  // namespace plx::star
