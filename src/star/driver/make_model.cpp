#include "star/driver/make_model.hpp"

#include <fmt/format.h>

#include "rt/runtime.hpp"
#include "star/models/model_file.hpp"
#include "star/problems/gravity/model_problem.hpp"

namespace plx::star {

result<std::string> make_model(const input& in, const std::string& path, const std::string& build, runtime& rt) {
  const auto* p = dynamic_cast<const model_problem*>(in.problem.get());
  if (p == nullptr)
    return error{fmt::format("make-model: expected problem.name = \"binary\" or \"rotating_star\", found \"{}\"",
                             in.problem_name)};
  if (auto built = rt.run([&] { return p->build(); }); !built) return built.error();
  if (auto written = models::write_model(path, p->stars(), {build, in.table.toml(), p->identity()}); !written)
    return written.error();
  return models::table_of(p->stars());
}

}  // namespace plx::star
