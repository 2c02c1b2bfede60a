#include "star/driver/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/config.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "control/progress.hpp"
#include "io/folder_lock.hpp"
#include "io/run_json.hpp"
#include "mesh/files/checkpoint.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "probe/record/names.hpp"
#include "probe/record/recorder.hpp"
#include "rt/runtime.hpp"
#include "star/driver/agreement.hpp"
#include "star/driver/options.hpp"
#include "star/driver/simulation.hpp"
#include "star/models/model.hpp"
#include "star/output/live_slice.hpp"
#include "star/output/run_files.hpp"
#include "star/problems/model_problem.hpp"
#include "star/runners/device_course.hpp"

namespace plx::star {

namespace {

result<void> check_memory(const setup& s) {
  const double cells = std::pow(s.domain.block_size, 3);
  const double blocks = double(s.domain.root_blocks[0]) * s.domain.root_blocks[1] * s.domain.root_blocks[2];
  const double needed = 3.0 * sizeof(double) * variable_count(s.hydro) * cells * blocks;
  const double there = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  if (needed <= there) return {};
  return error{
      fmt::format("mesh.root_blocks: the root grid alone needs {:.3g} GB of memory, this machine has {:.3g} GB; "
                  "make it smaller and refine where it matters (mesh.max_level)",
                  1e-9 * needed, 1e-9 * there)};
}

step_report report_of(const simulation& sim, const run_files& files) {
  const run_options& run = sim.options().run;
  return {sim.steps(),
          sim.time(),
          sim.t_end(),
          sim.dt(),
          run.max_steps,
          sim.state().mesh.block_count(),
          sim.state().mesh.deepest(),
          sim.cell_updates(),
          files.wall_s()};
}

/// A resumed run that is past its end would make no step and report success.
result<void> check_end(const simulation& sim, const std::string& checkpoint) {
  const run_options& run = sim.options().run;
  if (sim.time() > sim.t_end())
    return error{fmt::format("run.t_end = {}: checkpoint '{}' is at time {} already; expected a later end",
                             sim.with_unit(sim.t_end()), checkpoint, sim.with_unit(sim.time()))};
  if (run.max_steps > 0 && sim.steps() > run.max_steps)
    return error{fmt::format("run.max_steps = {}: checkpoint '{}' is at step {} already; expected more steps",
                             run.max_steps, checkpoint, sim.steps())};
  return {};
}

/// Without this check infinite values would only be noticed by the first step.
result<void> check_initial(const simulation& sim) {
  const std::vector<double> totals = sim.totals();
  const auto& fields = sim.state().now.fields();
  for (std::size_t v = 0; v < totals.size() && v < fields.size(); ++v)
    if (!std::isfinite(totals[v]))
      return error{
          fmt::format("the initial state is not finite: the sum of {} over the mesh is {}; expected values that "
                      "doubles can hold, with their squares; see the options [{}] and mesh.lower, mesh.upper",
                      fields[v].name, totals[v], sim.options().problem_name)};
  return {};
}

/// Warns of valid input whose effect differs from what it says.
void warn_of_input(const simulation& sim, run_observer& observer) {
  const auto warn = [&](const std::string& text) {
    log_warning("{}", text);
    if (is_root(sim.state().net)) observer.warned(text);
  };
  const floor_counts& f = sim.floors();
  if (sim.steps() == 0 && f.density + f.pressure > 0)
    warn(
        fmt::format("the initial state is below hydro.density_floor = {:g} in {} and below "
                    "hydro.pressure_floor = {:g} in {}, and was raised to them; lower the floors to keep it",
                    sim.settings().hydro.density_floor, plural(f.density, "cell"), sim.settings().hydro.pressure_floor,
                    f.pressure));
  const std::vector<double>& regions = sim.options().refinement.regions;
  for (std::size_t r = 0; r + 6 < regions.size(); r += 7)
    if (regions[r + 6] > sim.settings().domain.max_level)
      warn(fmt::format("refinement.regions, box {}: its level {} is above mesh.max_level = {}, which limits it", r / 7,
                       regions[r + 6], sim.settings().domain.max_level));
}

/// The state at the start: the initial one, or that of a checkpoint.
result<void> begin_state(simulation& sim, run_files& files, const run_request& request) {
  const std::string& checkpoint = request.resume_checkpoint;
  if (auto r = agree(sim.state().net, sim.tasks(), sim.take_device(request.backend)); !r) return r;
  if (checkpoint.empty()) {
    const task_info info{probe::register_name("star.build")};
    const auto build = [&] { return sim.tasks().run(info, [&] { return sim.options().problem->build(); }); };
    if (auto r = agree(sim.state().net, sim.tasks(), build()); !r) return r;
    sim.start();
    return agree(sim.state().net, sim.tasks(), check_initial(sim));
  }
  const auto restore = [&]() -> result<void> {
    const auto c = mesh::read_checkpoint(checkpoint);
    if (!c) return c.error();
    if (auto r = sim.restore(*c, checkpoint); !r) return r;
    if (auto r = check_end(sim, checkpoint); !r) return r;
    return files.restore(*c, checkpoint);
  };
  if (auto r = agree(sim.state().net, sim.tasks(), restore()); !r) return r;
  sim.go_on();
  return {};
}

/// The same, with exceptions as errors. If a device fails here, for example for lack of memory, the run is refused and
/// has no folder.
result<void> begin(simulation& sim, run_files& files, const run_request& request) {
  try {
    return begin_state(sim, files, request);
  } catch (const gpu::error& e) {
    return device_error(sim.options().run, e);
  } catch (const std::invalid_argument& e) {  // of the initial state, on all localities
    return error{e.what()};
  }
}

run_end output_failure(simulation& sim, run_files& files, const error& e) {
  log_error("{}", e.message);
  if (is_root(sim.state().net)) files.end_without_files("failed", e.message);
  return {run_status::failed, true, e.message, false, is_root(sim.state().net)};
}

run_end conclude(simulation& sim, run_files& files, run_status status, std::string message) {
  constexpr const char* names[] = {"finished", "interrupted", "failed"};
  if (auto r = files.end(names[static_cast<int>(status)], message); !r) return output_failure(sim, files, r.error());
  run_end end{status, false, std::move(message), false, is_root(sim.state().net)};
  end.conservation = files.conservation();
  return end;
}

bool is_wall_limit_reached(const simulation& sim, const run_files& files) {
  const double limit = sim.options().run.wall_limit_s;
  return limit > 0.0 && files.wall_of_process_s() >= limit;
}

std::uint32_t wishes(simulation& sim, const run_files& files, run_observer& observer) {
  if (sim.is_ahead()) return 0;  // checked again soon
  std::uint32_t bits = files.wishes();
  if (observer.stop_requested() || is_wall_limit_reached(sim, files)) bits |= wish_stop;
  if (is_root(sim.state().net) && picture_wanted(sim)) bits |= wish_picture;
  return bits;
}

run_end loop(simulation& sim, run_files& files, run_observer& observer) {
  const bool alone = sim.state().net.is_alone();
  while (!sim.finished()) {
    if (!alone) sim.wish(wishes(sim, files, observer));
    if (auto r = sim.step(); !r) {
      log_error("{}", r.error().message);
      return conclude(sim, files, run_status::failed, r.error().message);
    }
    const std::uint32_t wished = alone ? wishes(sim, files, observer) : sim.wishes();
    if ((wished & wish_picture) != 0) show_slice(sim);
    if (auto r = files.after_step(wished); !r) return output_failure(sim, files, r.error());
    if (auto r = files.check_conservation(); !r) {
      log_error("{}", r.error().message);
      return conclude(sim, files, run_status::failed, r.error().message);
    }
    observer.stepped(report_of(sim, files));
    plx::progress("step");
    if ((wished & wish_stop) != 0 && !sim.finished()) {
      const std::string why = is_wall_limit_reached(sim, files)
                                  ? fmt::format("run.wall_limit_s = {:g} is reached; ", sim.options().run.wall_limit_s)
                                  : std::string();
      return conclude(sim, files, run_status::interrupted,
                      why + "continue with: plx-star --resume " + files.folder().path());
    }
  }
  return conclude(sim, files, run_status::finished, "");
}

result<void> same_everywhere(const simulation& sim, const run_request& request) {
  const std::string text =
      fmt::format("{}\n--out {}\n--resume {}\n", sim.options().table.toml(), request.out, request.resume_checkpoint);
  step::exchange& net = sim.state().net;
  return agree(net, sim.tasks(), same_as_root(net, sim.tasks(), text));
}

run_end refusal(const step::exchange& net, const error& e) {
  run_end end{run_status::failed, true, e.message, false, is_root(net)};
  end.begun = false;
  return end;
}

run_end begin_and_loop(simulation& sim, run_files& files, const run_request& request, run_observer& observer) {
  const step::exchange& net = sim.state().net;
  if (auto r = same_everywhere(sim, request); !r) return refusal(net, r.error());
  const auto begin_all = [&]() -> result<void> {
    if (!request.resume_checkpoint.empty())
      if (auto r = files.lock(); !r) return r;
    if (auto r = begin(sim, files, request); !r) return r;
    return files.begin();
  };
  if (auto r = begin_all(); !r) {
    static_cast<void>(log_to_file("", log_level::none));
    // The folder stays if it was there before, as of a run that is resumed, or with the trace of this one.
    if (is_root(net) && files.has_begun()) files.end_without_files("failed", r.error().message);
    files.folder().unmake();
    return refusal(net, r.error());
  }
  log_info("{}: {} at step {}, time {:g}, {}", sim.options().problem_name,
           request.resume_checkpoint.empty() ? "starts" : "resumes", sim.steps(), sim.time(),
           plural(sim.state().mesh.block_count(), "block"));
  for (const std::string& line : sim.options().problem->notes()) log_info("{}", line);
  warn_of_input(sim, observer);
  observer.stepped(report_of(sim, files));
  run_end end = loop(sim, files, observer);
  log_info("{}: ends at step {}, time {:g}", sim.options().problem_name, sim.steps(), sim.time());
  return end;
}

// Records the exception that is being handled in run.json if the run had begun and this locality reports the failure;
// returns whether it does.
bool report_exception(const simulation& sim, run_files& files, run_observer& observer, const std::string& message) {
  const auto e = std::current_exception();
  observer.failing(e);
  const bool reports = sim.state().net.is_alone() || sim.tasks().run([&e] { return reports_failure(e); });
  if (reports && files.has_begun()) files.end_without_files("failed", message);
  return reports;
}

run_end end_of_lost(const simulation& sim, run_files& files, run_observer& observer, const locality_lost& lost) {
  run_end end{run_status::failed, false,
              fmt::format("after step {}: {}; continue with: plx-star --resume {}", sim.steps(), lost.first().what(),
                          files.folder().path()),
              true};
  log_error("{}", end.message);
  end.speaks = report_exception(sim, files, observer, end.message);
  return end;
}

// For an exception that leaves run().
void end_of_exception(const simulation& sim, run_files& files, run_observer& observer, const char* why) {
  report_exception(sim, files, observer, fmt::format("after step {}: {}", sim.steps(), why));
}

// Errors: further rows of diagnostics.csv, whose temperatures would be those of other weights under the same header.
result<void> check_same_columns(const input& in, const run_request& request) {
  const std::string table = request.out + "/diagnostics.csv";
  std::error_code code;
  if (in.diagnostics.stars == 0 || !std::filesystem::exists(table, code)) return {};
  const auto checkpoint = mesh::read_checkpoint(request.resume_checkpoint);
  if (!checkpoint) return checkpoint.error();
  for (const option_change& change : option_changes(checkpoint->state.options, in.table.toml()))
    if (change.key == "species.weights")
      return error{
          fmt::format("species.weights = {}: expected {} as in the checkpoint, because {} has temperatures of these; "
                      "move that file away, or continue in another folder (--out)",
                      change.value, change.was, table)};
  return {};
}

std::string way_to_go_on(const run_folder& folder) {
  if (folder.checkpoints().empty()) return "it has no checkpoint to continue from";
  return fmt::format("continue from its newest checkpoint with: plx-star --resume {}", folder.path());
}

}  // namespace

result<void> check_run(const input& in, const setup& s, const run_request& request) {
  if (auto r = check_memory(s); !r) return r;
  if (request.out.empty()) return {};
  const bool continues_in_place =
      !request.resume_checkpoint.empty() && request.resume_checkpoint.starts_with(request.out + "/checkpoint/");
  return continues_in_place ? check_same_columns(in, request) : run_folder::check_free(request.out);
}

run_end run(const input& in, const setup& s, runtime& rt, const run_request& request, run_observer& observer,
            step::exchange& net) {
  if (request.trace) rt.recorder().trace(true);
  simulation sim(in, s, rt, net);
  run_files files(sim, request);
  run_end end;
  try {
    end = begin_and_loop(sim, files, request, observer);
  } catch (const locality_lost& lost) {
    end = end_of_lost(sim, files, observer, lost);
  } catch (const gpu::error& e) {  // the values of the device are lost
    end = {run_status::failed, false,
           fmt::format("after step {}: {}; {}", sim.steps(), e.what(), way_to_go_on(files.folder())), false,
           is_root(net)};
    log_error("{}", end.message);
    if (is_root(net)) files.end_without_files("failed", end.message);
  } catch (const std::bad_alloc&) {
    end_of_exception(sim, files, observer, "out of memory");
    throw;
  } catch (const std::system_error& e) {
    const bool is_limit = e.code() == std::errc::resource_unavailable_try_again;
    end_of_exception(sim, files, observer, is_limit ? "no further thread could be started" : e.what());
    throw;
  } catch (const std::exception& e) {
    end_of_exception(sim, files, observer, e.what());
    throw;
  }
  static_cast<void>(log_to_file("", log_level::none));
  return end;
}

result<std::string> newest_checkpoint(const std::string& folder) {
  const std::vector<std::string> all = run_folder(folder).checkpoints();
  if (!all.empty()) return all.back();
  return missing_checkpoint(folder, "plx-star", "checkpoint/*.h5");
}

result<resume_point> find_resume_point(const std::string& path, bool in_place) {
  namespace fs = std::filesystem;
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::error_code code;
  if (fs::is_directory(folder, code) || !folder.ends_with(".h5")) {
    if (auto r = in_place ? folder_lock::check_unused(folder) : result<void>(); !r) return r.error();
    auto newest = newest_checkpoint(folder);
    if (!newest) return newest.error();
    return resume_point{folder, *newest};
  }
  const fs::path file(folder);
  const fs::path inside = file.parent_path();
  if (inside.filename() != "checkpoint")
    return error{fmt::format("'{}': expected a checkpoint in the folder of its run (RUN/checkpoint/*.h5)", path)};
  const std::string run = inside.parent_path().empty() ? "." : inside.parent_path().string();
  if (auto r = in_place ? folder_lock::check_unused(run) : result<void>(); !r) return r.error();
  return resume_point{run, run + "/checkpoint/" + file.filename().string()};
}

namespace {

// The blocks of a checkpoint depend on these options.
result<void> check_allowed(const config_table& table, const std::vector<std::string>& allowed) {
  for (const std::string& key : allowed) {
    if (!table.knows(key)) return error{fmt::format("--allow-change: there is no option '{}'", key)};
    for (const char* fixed : {"problem.name", "mesh.block_size", "mesh.root_blocks", "mesh.lower", "mesh.upper"})
      if (key == fixed)
        return error{fmt::format("--allow-change: {} cannot change, the blocks of the checkpoint depend on it", key)};
  }
  return {};
}

}  // namespace

result<std::unique_ptr<input>> input_of_resumed(const std::string& checkpoint, const std::string& folder,
                                                const std::string& file, const std::vector<std::string>& sets,
                                                const std::vector<std::string>& allowed) {
  const auto c = mesh::read_checkpoint(checkpoint);
  if (!c) return c.error();
  const std::string own = folder + "/config.toml";
  const bool of_folder = file.empty() && access(own.c_str(), R_OK) == 0;
  auto in = !file.empty() ? input::from_file(file, sets)
            : of_folder   ? input::from_file(own, sets)
                          : input::from_text(c->state.options, checkpoint, sets);
  if (!in && of_folder && input::from_text(c->state.options, checkpoint, sets))
    return error{fmt::format("{}; without the file the options come from the checkpoint", in.error().message)};
  if (!in) return in;
  const config_table& table = in.value()->table;
  if (auto r = check_allowed(table, allowed); !r) return r.error();
  const std::string defaults = identity_of(input::of_problem(in.value()->problem_name).value()->table);
  if (auto same = mesh::same_input(*c, checkpoint, identity_of(table), {defaults, allowed}); !same)
    return error{same.error().message + ", or allow the change (--allow-change KEY)"};
  return in;
}

result<std::string> make_model(const input& in, const std::string& path, const std::string& build, runtime& rt) {
  const auto* p = dynamic_cast<const model_problem*>(in.problem.get());
  if (p == nullptr)
    return error{fmt::format("make-model: expected problem.name = \"binary\" or \"rotating_star\", found \"{}\"",
                             in.problem_name)};
  // Before the iterations, which may take minutes.
  std::error_code code;
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(folder, code))
    return error{fmt::format("make-model: expected a file in a folder that exists, found '{}'", path)};
  if (std::filesystem::exists(path, code) && !std::filesystem::is_regular_file(path, code))
    return error{fmt::format("make-model: expected a file or a new name, found '{}', which is no file", path)};
  if (access(folder.c_str(), W_OK) != 0) return file_error("write", path, errno);
  if (auto built = rt.run([&] { return p->build(); }); !built) return built.error();
  if (auto written = models::write_model(path, p->stars(), {build, in.table.toml(), p->identity()}); !written)
    return written.error();
  return models::table_of(p->stars());
}

}  // namespace plx::star
