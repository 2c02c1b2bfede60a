"""Errors that `./plx test --planted` plants in the sources, one at a time: some test must fail for each.

An entry is (the error, the file, its correct text, which occurs there once, the wrong text, the test program that must fail, its
filter). Add one for each formula or invariant that a reader of the results relies on.
"""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    error: str
    file: str
    correct: str
    wrong: str
    program: str
    filter: str


_lattice, _expansion = "src/star/gravity/lattice.cpp", "src/star/gravity/expansion.hpp"
_bodies = "src/star/gravity/bodies.hpp"

GRAVITY = [
    Planted("sign of x in the recurrence of the derivatives of 1/r", _lattice,
            "double v = x[axis] * next[at(one)];", "double v = -x[axis] * next[at(one)];",
            "star_gravity_test", "Lattice.*"),
    Planted("sign of the second term of that recurrence", _lattice,
            "if (i[axis] > 1) v += (i[axis] - 1)", "if (i[axis] > 1) v -= (i[axis] - 1)",
            "star_gravity_test", "Lattice.*"),
    Planted("sign of the derivatives of 1/r for far partners", _lattice,
            "out.push_back(-d);", "out.push_back(d);",
            "star_test", "Gravity.ForcesOfAStar*"),
    Planted("sign of two derivatives along z in the moments of a child", _lattice,
            "double weight = pairs % 2 == 0 ? v : -v;", "double weight = v;",
            "star_test", "Gravity.ErrorsFall*"),
    Planted("sign of one derivative tensor where moments are folded", _expansion,
            "made.add(number_of({to.x, to.y + 2, 0}), number_of(k), number_of(a), true);",
            "made.add(number_of({to.x, to.y + 2, 0}), number_of(k), number_of(a));",
            "star_test", "Gravity.ErrorsFall*"),
    Planted("sign in the derivatives along z that follow from Laplace's equation", _expansion,
            "to[number_of({d - y, y, 0})] + to[number_of({d - y - 2, y + 2, 0})]",
            "to[number_of({d - y, y, 0})] - to[number_of({d - y - 2, y + 2, 0})]",
            "star_test", "Gravity.ErrorsFall*"),
    Planted("factor of a degree where a local expansion goes to a child", _expansion,
            "to[i] = to[i] + all(f) * moved[i];", "to[i] = to[i] + moved[i];",
            "star_test", "Gravity.ErrorsFall*"),
    Planted("pairs at exactly the opening distance: never", _lattice,
            "separated = square(o) >= t.opening;", "separated = square(o) > t.opening;",
            "star_gravity_test", "Lattice.*"),
    Planted("pairs of parents at exactly the opening distance: twice", _lattice,
            "open = square(parent_offset(o, parity)) < t.opening", "open = square(parent_offset(o, parity)) <= t.opening",
            "star_gravity_test", "Lattice.*"),
    Planted("mirrored partners in a plane of symmetry: twice", _lattice,
            "if (d == 0) share *= 0.5;", "if (d == 0) share *= 1.0;",
            "star_gravity_test", "GravityKernels.*"),
    Planted("pairs of a block and a coarser one: at one of the two only", _lattice,
            "square(p) >= t.opening) break;", "square(p) >= t.opening - 1) break;",
            "star_gravity_test", "Lattice.*"),
    Planted("the accelerations of before a regrid are used after it", "src/star/runners/stepper.cpp",
            "carried_ = 0;", "",
            "star_test", "Gravity.*"),
    Planted("sign of a torque in the correction of the total torque", _bodies,
            "t[a] = s[13 + a] - (c[b] * s[10 + d] - c[d] * s[10 + b]);",
            "t[a] = 0.0 - (s[13 + a] - (c[b] * s[10 + d] - c[d] * s[10 + b]));",
            "star_gravity_test", "GravityCorrection.*"),
    Planted("sign of the uniform part of that correction", _bodies,
            "to[a] = 0.0 - s[10 + a] / m;", "to[a] = s[10 + a] / m;",
            "star_gravity_test", "GravityCorrection.*"),
    Planted("sign of the work of gravity", _bodies,
            "next[i_energy * cells + c] - dt_dx * sum3(", "next[i_energy * cells + c] + dt_dx * sum3(",
            "star_test", "Gravity.TheTotalEnergy*"),
    Planted("the potential before the step is missing in the balance of energy", _bodies,
            "0.5 * (at_start[c] + potential[c]) * (u[c] - start[c])", "potential[c] * (u[c] - start[c])",
            "star_test", "Gravity.TheTotalEnergy*"),
    Planted("sign of a cell's own part of its potential", "src/star/gravity/passes.cpp",
            "potential * (to[c] - own_part * own_masses[c])", "potential * (to[c] + own_part * own_masses[c])",
            "star_test", "GravityFields.*:Gravity.*"),
]  # fmt: skip

_walker = "src/qmc/walker/walker.cpp"
_correlations, _four_point = "src/qmc/measure/correlations.cpp", "src/qmc/measure/four_point.cpp"

QUANTUM_MONTE_CARLO = [
    Planted("order of the expansion in the acceptance of an insertion", _walker,
            "return expansion_.k / (order + 1) * determinants;", "return expansion_.k / std::max(order, 1) * determinants;",
            "qmc_test", "Walker.RatiosAreThoseOfTheWeights:Walker.InverseStays*"),
    Planted("sign of the Schur complement of an insertion", _walker,
            "e - equal_time_ * (e - 1) - dot(", "e - equal_time_ * (e - 1) + dot(",
            "qmc_test", "Walker.RatiosAreThoseOfTheWeights:Walker.InverseStays*"),
    Planted("sign of the new column of the inverse", _walker,
            "n(i, k) = -column_[sigma][i] / schur[sigma];", "n(i, k) = column_[sigma][i] / schur[sigma];",
            "qmc_test", "Walker.RatiosAreThoseOfTheWeights:Walker.InverseStays*"),
    Planted("sign of the update after a removal", _walker,
            "add_outer(-1 / pivot,", "add_outer(1 / pivot,",
            "qmc_test", "Walker.RatiosAreThoseOfTheWeights:Walker.InverseStays*"),
    Planted("sign in the ratio of a flip", _walker,
            "1 + factor[sigma] * (1 - inverse_[sigma](at, at))", "1 - factor[sigma] * (1 - inverse_[sigma](at, at))",
            "qmc_test", "Walker.RatiosAreThoseOfTheWeights:Walker.InverseStays*"),
    Planted("the sign of the weight does not change with an accepted negative ratio", _walker,
            "if (last_ratio_ < 0) sign_ = -sign_;", "",
            "qmc_test", "Walker.SignIs*"),
    Planted("sign of a time difference in the single-particle measurement", "src/qmc/measure/single_particle.cpp",
            "(s.vertices[p].tau - s.vertices[q].tau) / beta_", "(s.vertices[q].tau - s.vertices[p].tau) / beta_",
            "qmc_test", "MonteCarlo.AgreesWithTheExactSolutionOfTheDopedCluster"),
    Planted("sign of the tail of G in imaginary time", "src/qmc/green/matsubara.cpp",
            "+ third_ * tau * (beta_ - tau) / 4", "- third_ * tau * (beta_ - tau) / 4",
            "qmc_test", "ImaginaryTime.*"),
    Planted("sign of the exchange part of equal-time correlations", _correlations,
            "const double exchange = (one - up(j, i)) * up(i, j) +", "const double exchange = -(one - up(j, i)) * up(i, j) +",
            "qmc_test", "Correlations.*"),
    Planted("sign of the exchange part of correlations over time", _correlations,
            "exchange -= g[0][1](i, j) * g[1][0](j, i);", "exchange += g[0][1](i, j) * g[1][0](j, i);",
            "qmc_test", "Correlations.*"),
    Planted("form factor of d waves", _correlations,
            "return std::cos(kx) - std::cos(ky);", "return std::cos(kx) + std::cos(ky);",
            "qmc_test", "Correlations.*"),
    Planted("sign of G0 M G0 in the two-particle measurement", _four_point,
            "column[x] = -scale_ *", "column[x] = scale_ *",
            "qmc_test", "FourPoint.AgreesWithExactDiagonalization"),
    Planted("sign of the exchanged part of the magnetic and charge functions", _four_point,
            "of_both_spins(x2, x) * right - half *", "of_both_spins(x2, x) * right + half *",
            "qmc_test", "FourPoint.*"),
    Planted("sign of the spins' difference in the magnetic function", _four_point,
            "f.channel == four_point_channel::magnetic ? -1 : 1;", "f.channel == four_point_channel::magnetic ? 1 : 1;",
            "qmc_test", "FourPoint.AgreesWithExactDiagonalization"),
    Planted("sign of the inverse bubble in the Bethe-Salpeter equation", "src/qmc/pairing/bethe_salpeter.cpp",
            "kernel(x, x) -= 1 / std::norm", "kernel(x, x) += 1 / std::norm",
            "qmc_test", "BetheSalpeter.*"),
    Planted("sign of the pair of momenta in the bubble of the lattice", "src/qmc/pairing/transfer_bubble.cpp",
            "const double side = is_pair(f) ? -1 : 1;", "const double side = 1;",
            "qmc_test", "TransferBubble.*"),
    Planted("sign of the imaginary part in the pair function", "src/qmc/measure/pair_function.cpp",
            "plus[row] += sign * ((urr + uii) * (drr + dii) + (uri - uir)", "plus[row] += sign * ((urr + uii) * (drr + dii) - (uri - uir)",
            "qmc_test", "PairFunction.*"),
]  # fmt: skip

_rotation, _bethe_salpeter = "src/parquet/equations/rotation.cpp", "src/parquet/equations/bethe_salpeter.cpp"
_resident = "src/parquet/device/resident_vertices.cpp"

PARQUET = [
    Planted("a frequency of the crossed rotation", _rotation,
            "{c.momentum_difference(kp.k, k.k), kp.n - k.n}};\n    case rotation::pairs", "{c.momentum_difference(kp.k, k.k), k.n - kp.n}};\n    case rotation::pairs",
            "parquet_test", "Rotation.*:ParquetSolver.Atom*"),
    Planted("a frequency of the rotation of pairs", _rotation,
            "k.n + kp.n + q.m + 1}};", "k.n + kp.n + q.m}};",
            "parquet_test", "Rotation.*:ParquetSolver.Atom*"),
    Planted("factor of the singlet's pairs", _bethe_salpeter,
            "c == channel::singlet ? -0.5 : 0.5;", "c == channel::singlet ? 0.5 : 0.5;",
            "parquet_test", "BetheSalpeter.*:ParquetSolver.Agrees*"),
    Planted("frequencies outside of the grid are missing in the pairs", _bethe_salpeter,
            "w.back() = rest;", "w.back() = 0.0 * rest;",
            "parquet_test", "BetheSalpeter.*:ParquetSolver.Agrees*:ParquetSolver.Error*"),
    Planted("sign of the triplet under exchange", _bethe_salpeter,
            "const double odd = c == channel::triplet ? -1 : 1;", "const double odd = 1;",
            "parquet_test", "ParquetSolver.*:BetheSalpeter.*"),
    Planted("second order counted twice in the self-energy", "src/parquet/equations/schwinger_dyson.cpp",
            "2 * u_squared * g.particle_hole(q, m)", "u_squared * g.particle_hole(q, m)",
            "parquet_test", "ParquetSolver.Atom*:ParquetSolver.Agrees*"),
    Planted("the factors of products on a device are exchanged", "src/parquet/device/streamed_products.cpp",
            "multiply_item{own->gamma.data(), own->phi.data(),", "multiply_item{own->phi.data(), own->gamma.data(),",
            "parquet_test", "StreamedProducts.*:SolverOnDevice.*"),
    Planted("a momentum of a rotation on a device", "src/parquet/device/rotation_tables.hpp",
            "hole ? n + m : m - 1 - np", "hole ? n - m : m - 1 - np",
            "parquet_test", "ParquetOperations.*"),
    Planted("slabs on a device that are skipped", _resident,
            "for (int slab = g.first; slab < g.last; ++slab) {", "for (int slab = g.first + (g.last - g.first) / 4; slab < g.last; ++slab) {",
            "parquet_test", "SolverOnDevice.Has*"),
    Planted("streams of a device that do not wait for the weights", _resident,
            "on_->streams[i].wait_for(s);", ";",
            "parquet_test", "SolverOnDevice.Has*"),
    Planted("the end of an iteration waits for one stream of the device", _resident,
            "  on_->wait();\n  gpu::stream& s = on_->streams[0];", "  on_->streams[0].wait();\n  gpu::stream& s = on_->streams[0];",
            "parquet_test", "SolverOnDevice.Has*"),
]  # fmt: skip

_replay, _replay_build = "src/trace/replay.cpp", "src/trace/replay_build.cpp"

WHAT_IF = [
    Planted("a lock of the replay holds nothing up", _replay,
            "if (!l.taken) return l.taken = true;", "if (!l.taken || true) return l.taken = true;",
            "trace_test", "ReplayModel.*"),
    Planted("what a slice releases within it waits for its end", _replay_build,
            "m_.is_slice(l.from) ? offset(l.from, l.when) : 0.0", "m_.is_slice(l.from) ? m_.nodes_[l.from].length : 0.0",
            "trace_test", "ReplayModel.*"),
    Planted("sleeps take no time", _replay_build,
            "n.delay = static_cast<double>(ready > since ? ready - since : 0);", "n.delay = 0;",
            "trace_test", "ReplayModel.*"),
    Planted("recorded waits for a lock remain dependencies", _replay_build,
            "locked_[from - k] = true;", "locked_[from - k] = false;",
            "trace_test", "ReplayModel.*:WhatIfReport.*"),
    Planted("factors do not scale the moments within a slice", _replay,
            "return here.began + factor(n) * offset;", "return here.began + offset;",
            "trace_test", "ReplayModel.*"),
    Planted("a replay that takes too short is accepted", "src/trace/what_if.cpp",
            "if (std::abs(r_.error()) > what_if_report::largest_error)", "if (r_.error() > what_if_report::largest_error)",
            "trace_test", "WhatIfReport.*"),
    Planted("a lock belongs to no task", "src/probe/record/slice_reader.hpp",
            "      l.task = s.id;\n", "",
            "rt_test", "LockTrace.*"),
]  # fmt: skip

ERRORS = GRAVITY + QUANTUM_MONTE_CARLO + PARQUET + WHAT_IF
