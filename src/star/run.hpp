// A whole run: from an input to a folder with everything that came out of it. docs/plx-star.md lists the files.
//
// On many localities all call run() with the same input and request; the folder is one that all of them see.
//
// Thread safety: one run at a time per folder; call it from main or any thread that is no worker. It prints nothing:
// progress goes to the observer. Cost: of the simulation. Example: tests/cli/test_plx_star.py
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "star/exchange.hpp"
#include "star/options.hpp"

namespace plx {
class runtime;
}
namespace plx::gpu {
struct backend;
}

namespace plx::star {

struct run_request {
  std::string out;                ///< folder; must not exist or be empty, unless it is the one resumed
  std::string resume_checkpoint;  ///< file to continue from; "" for a new run
  bool trace = false;
  const gpu::backend* backend = nullptr;  ///< for tests: instead of the one that run.device names
  // About the program, for run.json and checkpoints.
  std::string version, git, compiler, build_type;
};

struct step_report {
  std::int64_t step = 0;
  double time = 0.0, t_end = 0.0, dt = 0.0;
  std::int64_t max_steps = 0;
  std::size_t blocks = 0;
  int deepest = 0;
  std::int64_t cell_updates = 0;  ///< since the start
  double wall_s = 0.0;            ///< since the start, those before a resume included
};

/// What a program does while a run goes on.
class run_observer {
 public:
  virtual ~run_observer() = default;
  virtual void stepped(const step_report&) {}
  /// Something of the input that a person should know of before the run goes on; one line, on the root.
  virtual void warned(const std::string&) {}
  /// Asked with each step; true ends the run with a checkpoint, on all localities when one of them says so.
  virtual bool stop_requested() { return false; }
};

enum class run_status { finished, interrupted, failed };

struct run_end {
  run_status status = run_status::finished;
  bool output_failed = false;  ///< failed because something could not be written
  std::string message;         ///< one line: why it failed, or how to go on
  bool lost = false;           ///< failed because another locality is gone
  bool speaks = true;          ///< this locality should tell it; the others would only repeat it
  bool begun = true;           ///< false: refused, on all localities, before there was a folder
};

/// Looks for what would stop a run before it begins: a folder that is in use, a mesh larger than the memory.
result<void> check_run(const input& in, const setup& s, const run_request& request);

/// Requires: check_run(). Errors are in the run_end; what could be written by then is whole. When a locality is lost
/// the run fails on the others: the newest checkpoint is whole, and continues on as many as there are then.
run_end run(const input& in, const setup& s, runtime& rt, const run_request& request, run_observer& observer,
            exchange& net = exchange::alone());

/// The newest checkpoint in the folder of a run.
result<std::string> newest_checkpoint(const std::string& run_folder);

/// Where a run is resumed from.
struct resume_point {
  std::string folder;      ///< of the run, without a slash at its end
  std::string checkpoint;  ///< in folder/checkpoint
};
/// `path`: the folder of a run, for its newest checkpoint, or one of the files in its folder `checkpoint`.
result<resume_point> find_resume_point(const std::string& path);

/// The input of a run that continues: what `file` says (or, when it is "", the run's own config.toml) and `sets`,
/// compared with the options that the checkpoint was made with.
/// `allowed`: keys of the physics that may differ, too.
/// Errors: no, a broken or another version's checkpoint; a key that differs and may not (may_change_on_resume).
result<std::unique_ptr<input>> input_of_resumed(const std::string& checkpoint, const std::string& run_folder,
                                                const std::string& file, const std::vector<std::string>& sets,
                                                const std::vector<std::string>& allowed = {});

}  // namespace plx::star
