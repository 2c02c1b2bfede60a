#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "star/device/machine.hpp"
#include "star/device/operations.hpp"

namespace plx::star::device {

namespace {

void check(cudaError_t e, const char* call) {
  if (e == cudaSuccess) return;
  throw std::runtime_error(std::string("the device failed in ") + call + ": " + cudaGetErrorName(e) + " (" +
                           cudaGetErrorString(e) + ")");
}

class cuda_machine final : public machine {
 public:
  cuda_machine() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  ~cuda_machine() override {
    drop_graphs();
    cudaStreamDestroy(stream_);
  }
  const char* name() const override { return "cuda"; }
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes > 0 ? bytes : 1), "cudaMalloc");
    return memory;
  }
  void release(void* memory) noexcept override { cudaFree(memory); }
  void to_device(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
  }
  void from_device(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
  }
  void within_device(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync");
  }
  void synchronize() override { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  void advance_stage(const stage_arguments& a) override {
    advance_stage_cuda(stream_, a);
    check(cudaGetLastError(), "the launch of advance_stage");
  }
  void make_ghosts(const ghosts_arguments& a) override {
    make_ghosts_cuda(stream_, a);
    check(cudaGetLastError(), "the launch of make_ghosts");
  }
  void correct_fluxes(const correction_arguments& a) override {
    correct_fluxes_cuda(stream_, a);
    check(cudaGetLastError(), "the launch of correct_fluxes");
  }
  void sum_sides(const side_arguments& a) override {
    sum_sides_cuda(stream_, a);
    check(cudaGetLastError(), "the launch of sum_sides");
  }
  void finish_step(const finish_arguments& a) override {
    finish_step_cuda(stream_, a);
    check(cudaGetLastError(), "the launch of finish_step");
  }

  bool has_graphs() const override { return true; }
  void begin_graph() override {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  }
  int end_graph() override {
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    cudaGraphExec_t ready = nullptr;
    const cudaError_t made = cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "cudaGraphInstantiate");
    graphs_.push_back(ready);
    return static_cast<int>(graphs_.size()) - 1;
  }
  void replay(int graph) override { check(cudaGraphLaunch(graphs_[graph], stream_), "cudaGraphLaunch"); }
  void drop_graphs() override {
    for (cudaGraphExec_t g : graphs_) cudaGraphExecDestroy(g);
    graphs_.clear();
  }

 private:
  cudaStream_t stream_ = nullptr;
  std::vector<cudaGraphExec_t> graphs_;
};

}  // namespace

std::unique_ptr<machine> make_cuda_machine() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  return std::make_unique<cuda_machine>();
}

}  // namespace plx::star::device
