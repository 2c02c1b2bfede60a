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


# Statements that record messages in a trace (mpi_messages.hpp), before and after the call, within its timer. $D is its
# result.
MESSAGES = {
    "Recv": ("receiving note(me.timer(), $3, $4, $5);", "note.end($D, $S);"),
    "Irecv": ("receiving note(me.timer(), $3, $4, $5);", "note.pending($D, *$6);"),
    "Sendrecv": ("sending sent(me.timer(), $1, $2, $3, $4, $10); receiving note(me.timer(), $8, $9, $10);",
                 "sent.end($D); note.end($D, $S);"),
    "Sendrecv_replace": ("sending sent(me.timer(), $1, $2, $3, $4, $7); receiving note(me.timer(), $5, $6, $7);",
                         "sent.end($D); note.end($D, $S);"),
    "Isendrecv": ("sending sent(me.timer(), $1, $2, $3, $4, $10); receiving note(me.timer(), $8, $9, $10);",
                  "sent.end($D); note.pending($D, *$11);"),
    "Isendrecv_replace": ("sending sent(me.timer(), $1, $2, $3, $4, $7); receiving note(me.timer(), $5, $6, $7);",
                          "sent.end($D); note.pending($D, *$8);"),
    "Mprobe": ("receiving note(me.timer(), $0, $1, $2);", "note.probed($D, nullptr, $3, $S);"),
    "Improbe": ("receiving note(me.timer(), $0, $1, $2);", "note.probed($D, $3, $4, $S);"),
    "Mrecv": ("receiving_found note(me.timer(), *$3);", "note.end($D);"),
    "Imrecv": ("receiving_found note(me.timer(), *$3);", "note.pending($D, *$4);"),
    "Recv_init": ("", "made_receive($D, $3, $4, $5, *$6);"),
    "Start": ("starting note(me.timer(), 1, $0);", "note.end($D);"),
    "Startall": ("starting note(me.timer(), $0, $1);", "note.end($D);"),
    "Request_free": ("freeing($0);", ""),
    "Wait": ("completing note(me.timer(), 1, $0); $1 = note.status($1);", "note.one($D, nullptr, nullptr, $1);"),
    "Test": ("completing note(me.timer(), 1, $0); $2 = note.status($2);", "note.one($D, $1, nullptr, $2);"),
    "Waitany": ("completing note(me.timer(), $0, $1); $3 = note.status($3);", "note.one($D, nullptr, $2, $3);"),
    "Testany": ("completing note(me.timer(), $0, $1); $4 = note.status($4);", "note.one($D, $3, $2, $4);"),
    "Waitall": ("completing note(me.timer(), $0, $1); $2 = note.statuses($2);", "note.all($D, nullptr, $2);"),
    "Testall": ("completing note(me.timer(), $0, $1); $3 = note.statuses($3);", "note.all($D, $2, $3);"),
    "Comm_create_group": ("", "made_by_group($D, *$3, $2);"),
    "Intercomm_create": ("", "made_by_group($D, *$5, $4);"),
    "Comm_idup": ("", "made_by_all($D, $0, MPI_COMM_NULL);"),
    "Comm_idup_with_info": ("", "made_by_all($D, $0, MPI_COMM_NULL);"),
    "Finalize": ("finish_messages();", ""),
}
for name in "Waitsome", "Testsome":
    MESSAGES[name] = ("completing note(me.timer(), $0, $1); $4 = note.statuses($4);", "note.some($D, $2, $3, $4);")
for mode in "", "S", "B", "R":
    MESSAGES[f"{mode}send".capitalize()] = MESSAGES[f"I{mode.lower()}send"] = (
        "sending note(me.timer(), $1, $2, $3, $4, $5);", "note.end($D);")
    MESSAGES[f"{mode}send_init".capitalize()] = ("", "made_send($D, $1, $2, $3, $4, $5, *$6);")
for name, made in {
    "Comm_dup": 1, "Comm_dup_with_info": 2, "Comm_create": 2, "Comm_split": 3, "Comm_split_type": 4, "Cart_create": 5,
    "Cart_sub": 2, "Graph_create": 5, "Dist_graph_create": 8, "Dist_graph_create_adjacent": 9, "Intercomm_merge": 2,
}.items():
    MESSAGES[name] = ("", f"made_by_all($D, $0, *${made});")


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


def of(table, name):
    return table.get(name) or (table.get(name[:-2]) if name.endswith("_c") else None)


def wrapper(name, parameters):
    if parameters in (["void"], [""]):
        parameters = []
    arguments = [f"a{i}" for i in range(len(parameters))]
    declared = ", ".join(named(p, a) for p, a in zip(parameters, arguments))
    call = f"PMPI_{name}({', '.join(arguments)})"
    expression, (before, after) = of(COUNTED, name), of(MESSAGES, name) or ("", "")
    lines = [
        f"PLX_WRAPPER int MPI_{name}({declared}) {{", f"  if (measuring() == nullptr) return {call};",
        f'  static const function me("{name}", {"true" if expression else "false"});',
    ]
    if "$S" in f"{expression}{after}":
        status = arguments[-1]
        lines += ["  MPI_Status own;", f"  if ({status} == MPI_STATUS_IGNORE) {status} = &own;"]

    def filled(text):
        return re.sub(r"\$(\d+)", r"a\1", text.replace("$S", arguments[-1] if arguments else "").replace("$D", "result"))

    if before or after:
        steps = f"{filled(before)} const int result = {call}; {filled(after)} return result;".strip()
    else:
        steps = f"return {call};"
    if expression:
        lines += [
            f"  const int done = me.timed([&] {{ {steps} }});",
            f"  if (done == MPI_SUCCESS) me.count({filled(expression)});", "  return done;",
        ]
    else:
        lines.append(f"  return me.timed([&] {{ {steps} }});")
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
