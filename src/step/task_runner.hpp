// Runs a recipe on the workers of each locality: a pass on a node is a task that starts as soon as everything that it
// reads is final (step/task_graph.hpp). There is no barrier between passes.
//
// Values that other localities read are sent in messages when the last node of a group is done, and count as inputs
// there. Nodes near other localities are first, so that messages travel while the rest is computed.
//
// Results do not depend on the schedule: a task writes only its own node, and reads only final values.
//
// Thread safety: one task at a time calls run(); adopt() exclusively. Cost: about 0.2 us per task; one atomic decrement
// per input. Memory: 20 bytes per pass and node. Example: step/test/task_runner_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "rt/patterns/input_count.hpp"
#include "step/exchange.hpp"
#include "step/node_graph.hpp"
#include "step/recipe.hpp"
#include "step/task_graph.hpp"

namespace plx::step {

class round_end;

class task_runner final : private message_handler {
 public:
  /// Requires: r.check(); with several localities, each field that is read at other nodes has a
  /// transfer for that stencil; all arguments outlive the runner.
  task_runner(const recipe& r, exchange& net);
  ~task_runner() override;

  /// Takes another mesh or partition, which outlive its use.
  void adopt(const mesh::block_mesh& mesh, const mesh::curve_parts& parts);
  /// Runs the recipe once on all local nodes. All localities call it, each in a task. Errors: locality_lost; those of
  /// kernels and std::bad_alloc, on their locality alone. All are thrown after all tasks have ended. After an error of
  /// a kernel the values that this locality has sent are undefined; after std::bad_alloc some may not be sent.
  void run();
  /// The worker that last ran a pass on a block.
  unsigned worker_of(node_id block) const { return workers_[static_cast<std::size_t>(block)]; }
  /// Requires: adopt() was called.
  const node_graph& nodes() const { return *nodes_; }

 private:
  struct outgoing;
  struct messages;
  struct named_pass {
    pass_kernel* kernel = nullptr;
    probe::name_id name{};
  };

  void count_inputs();
  void prepare_messages();
  void prepare_messages(std::size_t link);
  /// The passes of a local node, 0 for one of another locality.
  std::uint64_t local_passes(node_id node) const { return local_passes_[static_cast<std::size_t>(node)]; }

  input_count& missing(node_id node, int pass) { return missing_[static_cast<std::size_t>(node) * stride_ + pass]; }
  std::int32_t& inputs(node_id node, int pass) { return inputs_[static_cast<std::size_t>(node) * stride_ + pass]; }
  void start();
  void post(node_id node, int pass, input_count* ready);
  void run_from(node_id node, int pass);
  void completed(node_id node, int pass);
  void notify(const link& l, node_id node);
  void one_arrived(node_id node, int pass);
  void send(int link, node_id node);
  void send(outgoing& o);
  void one_finished();
  void failed(std::exception_ptr why);

  void arrived(const message& m) override;
  void lost(const std::exception_ptr& loss) override;

  exchange& net_;
  task_graph graph_;
  std::vector<named_pass> passes_;
  std::unique_ptr<node_graph> nodes_;
  std::vector<messages> messages_;           // by link
  std::vector<std::uint64_t> local_passes_;  // by node: bits
  std::size_t stride_ = 0;                   // passes, rounded up to a cache line of counters
  std::unique_ptr<input_count[]> missing_;   // by node and pass: inputs that have not arrived
  std::vector<std::int32_t> inputs_;         // by node and pass: all inputs, without the pass before
  std::vector<std::uint16_t> workers_;       // by slot
  std::vector<node_id> order_;               // local nodes in the order in which their first pass starts
  input_count unfinished_;                   // local nodes that have not finished; messages that have not arrived
  std::int32_t to_finish_ = 0;
  std::atomic<int> tasks_{0};  // submitted and not ended; counted with several localities only
  round_end* end_ = nullptr;
  std::atomic<bool> has_failed_{false};
  std::exception_ptr why_failed_;
};

}  // namespace plx::step
