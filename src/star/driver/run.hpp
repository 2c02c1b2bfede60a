// A whole run: from an input to a folder with its results. docs/plx-star.md lists the files.
//
// With several localities all call run() with the same input and request; all of them must see the folder.
//
// Thread safety: one run at a time per folder; call it from main or any thread that is not a worker. It prints nothing:
// progress goes to the observer. Cost: that of the simulation. Example: tests/cli/test_plx_star.py
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "star/driver/options.hpp"
#include "step/exchange.hpp"

namespace plx {
class runtime;
}
namespace plx::gpu {
struct backend;
}

namespace plx::star {

struct run_request {
  std::string out;                ///< folder; must not exist or be empty, unless its run is resumed
  std::string resume_checkpoint;  ///< file to continue from; "" for a new run
  bool trace = false;
  std::string changed_options = "[]";     ///< for run.json: changed_options_json() (io/run_json.hpp)
  const gpu::backend* backend = nullptr;  ///< for tests: instead of the one that run.device names
  // The program's build, for run.json and checkpoints.
  std::string version, git, compiler, build_type;
};

struct step_report {
  std::int64_t step = 0;
  double time = 0.0, t_end = 0.0, dt = 0.0;
  std::int64_t max_steps = 0;
  std::size_t blocks = 0;
  int deepest = 0;
  std::int64_t cell_updates = 0;  ///< since the start
  double wall_s = 0.0;            ///< since the start, including runs before a resume
};

/// Callbacks of a program during a run.
class run_observer {
 public:
  virtual ~run_observer() = default;
  virtual void stepped(const step_report&) {}
  /// A property of the input that a user should know before the run starts; one line, on the root.
  virtual void warned(const std::string&) {}
  /// Called when an exception ends the run here, before other localities are informed of it.
  virtual void failing(const std::exception_ptr&) {}
  /// Called at each step; true on any locality ends the run with a checkpoint on all.
  virtual bool stop_requested() { return false; }
};

enum class run_status { finished, interrupted, failed };

struct run_end {
  run_status status = run_status::finished;
  bool output_failed = false;  ///< failed because output could not be written
  std::string message;         ///< one line: why it failed, or how to resume it
  bool lost = false;           ///< failed because another locality is gone
  bool speaks = true;          ///< this locality should report the message; the others would only repeat it
  bool begun = true;           ///< false: refused on all localities before the folder was made
  std::string conservation{};  ///< the ledger as lines of text; "" of a run that did not reach its end
};

/// Checks for errors that would stop a run before it begins: a folder in use, a mesh larger than the memory.
result<void> check_run(const input& in, const setup& s, const run_request& request);

/// Requires: check_run(). Errors are in the run_end; files written by then are complete. If a locality is lost, the run
/// fails on the others; the newest checkpoint is complete and can be continued on any number of localities.
run_end run(const input& in, const setup& s, runtime& rt, const run_request& request, run_observer& observer,
            step::exchange& net = step::exchange::alone());

/// The newest checkpoint in the folder of a run.
result<std::string> newest_checkpoint(const std::string& run_folder);

/// The checkpoint from which a run resumes.
struct resume_point {
  std::string folder;      ///< of the run, without a slash at its end
  std::string checkpoint;  ///< in folder/checkpoint
};
/// `path`: the folder of a run, for its newest checkpoint, or one of the files in its folder `checkpoint`.
/// Errors: there is no checkpoint; if `in_place`, another process uses the folder, and may replace its checkpoints.
result<resume_point> find_resume_point(const std::string& path, bool in_place);

/// The input of a run that continues: the options in `file` (if "": the run's own config.toml) and `sets`, compared
/// with the options in the checkpoint. `allowed`: keys of the physics that may differ, too. Errors: no checkpoint, a
/// damaged one or one of another version; a key that differs and may not (may_change_on_resume).
result<std::unique_ptr<input>> input_of_resumed(const std::string& checkpoint, const std::string& run_folder,
                                                const std::string& file, const std::vector<std::string>& sets,
                                                const std::vector<std::string>& allowed = {});

/// plx-star make-model: computes the model of the input, a file from which runs start, writes it to `path`, and returns
/// the table of its iterations. `build`: the program, for the file. Requires: in.prepare(). Errors: one line: the
/// problem has no model, there is no such model, or the file cannot be written.
result<std::string> make_model(const input& in, const std::string& path, const std::string& build, runtime& rt);

}  // namespace plx::star
