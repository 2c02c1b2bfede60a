#!/usr/bin/env python3
"""Generates wrappers of MPI functions from the mpi.h found: mpi_wrappers.py OUTPUT COMPILER ARGS...

The compiler preprocesses mpi.h; each function that returns an error code and has a counterpart in the profiling
interface (PMPI_) is wrapped. The output is included by mpi.cpp, which defines the functions used in the expressions
below. Functions without an expression are timed only.
"""

import re
import subprocess
import sys

# The bytes to count, by argument position: $0 is the first, $S the status. Evaluated after a successful call, while
# measuring. Names that end in _c have the same positions.
COUNTED = {
    "Sendrecv": "both(send($1, $2, $3), arrived($S, $7))",
    "Sendrecv_replace": "both(send($1, $2, $3), arrived($S, $2))",
    "Recv": "arrived($S, $2)",
    "Mrecv": "arrived($S, $2)",
    "Irecv": "receive($1, $2, $3)",
    "Imrecv": "room($1, $2)",
    "Isendrecv": "both(send($1, $2, $3), receive($6, $7, $8))",
    "Isendrecv_replace": "both(send($1, $2, $3), receive($1, $2, $5))",
    "Put": "send($1, $2, $3)",
    "Rput": "send($1, $2, $3)",
    "Accumulate": "send($1, $2, $3)",
    "Raccumulate": "send($1, $2, $3)",
    "Get": "receive($1, $2, $3)",
    "Rget": "receive($1, $2, $3)",
    "Get_accumulate": "get_accumulate($1, $2, $4, $5, $6, $10)",
    "Rget_accumulate": "get_accumulate($1, $2, $4, $5, $6, $10)",
    "Fetch_and_op": "get_accumulate(1, $2, 1, $2, $3, $5)",
    "Compare_and_swap": "both(send(1, $3, $4), receive(1, $3, $4))",
}
for mode in "", "S", "B", "R":
    COUNTED[f"{mode}send".capitalize()] = "send($1, $2, $3)"
    COUNTED[f"I{mode.lower()}send"] = "send($1, $2, $3)"

COLLECTIVES = {
    "Bcast": "broadcast($1, $2, $3, $4)",
    "Reduce": "reduce($2, $3, $5, $6)",
    "Allreduce": "reduction($2, $3)",
    "Scan": "reduction($2, $3)",
    "Exscan": "exclusive_scan($2, $3, $5)",
    "Reduce_scatter_block": "reduce_scatter($2, $3, $5)",
    "Reduce_scatter": "reduce_scatter($2, $3, $5)",
    "Gather": "gather($0, $1, $2, $4, $5, $6, $7)",
    "Gatherv": "gather($0, $1, $2, $4, $6, $7, $8)",
    "Scatter": "scatter($1, $2, $3, $4, $5, $6, $7)",
    "Scatterv": "scatter($1, $3, $4, $5, $6, $7, $8)",
    "Allgather": "allgather($0, $1, $2, $4, $5, $6)",
    "Allgatherv": "allgather($0, $1, $2, $4, $6, $7)",
    "Alltoall": "alltoall($0, $1, $2, $4, $5, $6)",
    "Alltoallv": "alltoall($0, $1, $3, $5, $7, $8)",
    "Alltoallw": "alltoall($0, $1, $3, $5, $7, $8)",
    "Neighbor_allgather": "neighbor_allgather($1, $2, $4, $5, $6)",
    "Neighbor_allgatherv": "neighbor_allgather($1, $2, $4, $6, $7)",
    "Neighbor_alltoall": "neighbor_alltoall($1, $2, $4, $5, $6)",
    "Neighbor_alltoallv": "neighbor_alltoall($1, $3, $5, $7, $8)",
    "Neighbor_alltoallw": "neighbor_alltoall($1, $3, $5, $7, $8)",
}
for name, expression in COLLECTIVES.items():
    COUNTED[name] = COUNTED["I" + name[0].lower() + name[1:]] = expression

# (file, [offset,] buffer, count, type, status or request): blocking reads report the amount received.
for way in "", "_at", "_all", "_at_all", "_shared", "_ordered":
    first = 3 if "at" in way.split("_") else 2
    COUNTED[f"File_read{way}"] = f"arrived($S, ${first + 1})"
    COUNTED[f"File_write{way}"] = f"room_sent(${first}, ${first + 1})"
    for name, operation in ("read", "room"), ("write", "room_sent"):
        for begun in f"File_i{name}{way}", f"File_{name}{way}_begin":
            COUNTED[begun] = f"{operation}(${first}, ${first + 1})"


def preprocessed(compiler, arguments):
    command = [compiler, *arguments, "-E", "-P", "-x", "c++", "-"]
    return subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True).stdout


def without_attributes(text):
    """The text without __attribute__((...)) and its parentheses, which may be nested and contain strings."""
    parts, at = [], 0
    for found in re.finditer(r"__attribute__\s*\(", text):
        if found.start() < at:
            continue
        parts.append(text[at : found.start()])
        at, depth = found.end(), 1
        while depth > 0:
            piece = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^"()]+').match(text, at)
            depth += {"(": 1, ")": -1}.get(piece.group(), 0)
            at = piece.end()
    return "".join(parts) + text[at:]


def split_parameters(text):
    """Splits 'int a, void (*f)(int, int)' into two declarations."""
    parameters, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parameters.append("")
        else:
            parameters[-1] += letter
    return [" ".join(p.split()) for p in parameters]


def named(parameter, name):
    """The declaration of a parameter, such as 'int counts[]' or 'MPI_Comm', with the given name."""
    bounds = re.search(r"(\s*\[[^\]]*\])*$", parameter)
    kind = parameter[: bounds.start()]
    words = re.findall(r"\w+", kind)
    plain = [w for w in words if w not in ("const", "volatile", "struct", "unsigned", "long", "restrict", "__restrict")]
    if len(plain) > 1 and re.search(r"\w$", kind):  # a type and a name
        kind = re.sub(r"\w+$", "", kind)
    return f"{kind.rstrip()} {name}{bounds.group().strip()}"


def functions(text):
    """Parameters of the functions that have a PMPI_ counterpart, by name without MPI_."""
    found = {}
    for statement in re.split(r"[;{}]", without_attributes(text)):
        match = re.fullmatch(r'\s*(?:extern\s+)?(?:"C"\s*)?int\s+(P?MPI_\w+)\s*\((.*)\)\s*', statement, re.DOTALL)
        if match:
            found[match.group(1)] = split_parameters(match.group(2).strip())
    return {
        name[4:]: parameters
        for name, parameters in sorted(found.items())
        if name.startswith("MPI_") and "P" + name in found and "..." not in parameters
    }


def expression_of(name):
    return COUNTED.get(name) or (COUNTED.get(name[:-2]) if name.endswith("_c") else None)


def wrapper(name, parameters):
    if parameters in (["void"], [""]):
        parameters = []
    arguments = [f"a{i}" for i in range(len(parameters))]
    declared = ", ".join(named(p, a) for p, a in zip(parameters, arguments))
    call = f"PMPI_{name}({', '.join(arguments)})"
    expression = expression_of(name)
    lines = [
        f"PLX_WRAPPER int MPI_{name}({declared}) {{", f"  if (measuring() == nullptr) return {call};",
        f'  static const function me("{name}", {"true" if expression else "false"});',
    ]
    if expression and "$S" in expression:
        status = arguments[-1]
        lines += ["  MPI_Status own;", f"  if ({status} == MPI_STATUS_IGNORE) {status} = &own;"]
        expression = expression.replace("$S", status)
    if expression:
        counted = re.sub(r"\$(\d+)", r"a\1", expression)
        lines += [
            f"  const int done = me.timed([&] {{ return {call}; }});",
            f"  if (done == MPI_SUCCESS) me.count({counted});", "  return done;",
        ]
    else:
        lines.append(f"  return me.timed([&] {{ return {call}; }});")
    return "\n".join([*lines, "}"])


def main():
    output, compiler, *arguments = sys.argv[1:]
    found = functions(preprocessed(compiler, arguments))
    if "Send" not in found or "Init" not in found:
        sys.exit("mpi_wrappers.py: expected the declarations of MPI_Send, PMPI_Send, MPI_Init and PMPI_Init in mpi.h; "
                 f"found {len(found)} functions with a PMPI_ counterpart. Configure with MPI_HOME set to another MPI, or with "
                 "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON")
    with open(output, "w", encoding="utf-8") as file:
        file.write("// Written by mpi_wrappers.py from mpi.h.\n")
        file.writelines(wrapper(name, parameters) + "\n" for name, parameters in found.items())


if __name__ == "__main__":
    main()
