"""gdb commands for programs that use the runtime: the suspended tasks, what they wait on, and where.

    gdb -p PID -x tools/gdb/plx_gdb.py        (or: source tools/gdb/plx_gdb.py; it works on core files too)
    (gdb) plx tasks        suspended tasks of all runtimes: number, name, key, what they wait on
    (gdb) plx bt 3         the backtrace of task 3
    (gdb) plx bt all       of all

A suspended task is on no thread. Its registers lie where Boost.Context saved them, at fiber::context; `plx bt` writes
them into the selected frame's registers, asks for a backtrace and puts the old ones back. With a core file registers
cannot be written: there the return addresses are followed by frame pointers alone. The library must have its types
(-g): with less, `plx tasks` says so.
"""

import gdb

NO_KEY = 2**64 - 1

# Where jump_fcontext saves registers, from the address of the context on; "sp" is the stack pointer after it returned.
LAYOUTS = {
    "i386:x86-64": {
        "saved": {"r12": 0x08, "r13": 0x10, "r14": 0x18, "r15": 0x20, "rbx": 0x28, "rbp": 0x30, "rip": 0x38},
        "sp": ("rsp", 0x40),
        "frame": 0x30,
        "pc": 0x38,
    },
    "aarch64": {
        "saved": {f"x{19 + i}": 0x40 + 8 * i for i in range(12)} | {"pc": 0xA0},
        "sp": ("sp", 0xB0),
        "frame": 0x90,
        "pc": 0xA0,
    },
}


def layout():
    name = gdb.selected_inferior().architecture().name()
    if name not in LAYOUTS:
        raise gdb.GdbError(f"plx: no layout of saved registers for {name}")
    return LAYOUTS[name]


def word_at(address):
    pointer = gdb.lookup_type("unsigned long").pointer()
    return int(gdb.Value(address).cast(pointer).dereference())


def atomic(value):
    """The value of a std::atomic of libstdc++."""
    for name in ("_M_base", "_M_b", "_M_p", "_M_i"):
        try:
            value = value[name]
        except gdb.error:
            continue
    return value


def elements(vector):
    first, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    while first != end:
        yield first.dereference()
        first = first + 1


def schedulers():
    try:
        listed = gdb.parse_and_eval("'plx::detail::(anonymous namespace)::living_schedulers'")
    except gdb.error as error:
        raise gdb.GdbError(f"plx: no runtime in this program, or it has no debug information ({error})")
    if int(listed) == 0:
        return []
    return list(elements(listed.dereference()["living"]))


def names():
    try:
        table = gdb.parse_and_eval("'plx::probe::(anonymous namespace)::all_names'")
    except gdb.error:
        return None
    return None if int(table) == 0 else table.dereference()["names"]


def name_of(table, number):
    """The element of a std::deque<std::string> (libstdc++: blocks of 512 bytes)."""
    if table is None:
        return f"name #{number}"
    start = table["_M_impl"]["_M_start"]
    string = start["_M_cur"].dereference().type
    per_block = max(1, 512 // string.sizeof)
    offset = number + int(start["_M_cur"] - start["_M_first"])
    block = (start["_M_node"] + offset // per_block).dereference()
    text = (block + offset % per_block).dereference()
    size = int(text["_M_string_length"])
    return text["_M_dataplus"]["_M_p"].string(length=size)


def suspended():
    """(fiber, description) of each suspended task, the fibers that were made first in front."""
    found = []
    table = names()
    for number, scheduler in enumerate(schedulers()):
        fibers = []
        fiber = scheduler["all_fibers_"]
        while int(fiber) != 0:
            fibers.append(fiber)
            fiber = fiber["next_in_registry"]
        for fiber in reversed(fibers):
            reason = atomic(fiber["waits_on"])
            if int(reason) == 0 or int(atomic(fiber["context"])) == 0:
                continue
            key = int(fiber["info"]["key"])
            what = reason["what"].string()
            verb = "can continue, after" if bool(atomic(fiber["ready"])) else "waits on"
            text = f'"{name_of(table, int(fiber["info"]["name"]))}"'
            text += f" (key {key})" if key != NO_KEY else ""
            text += f" {verb} {what}"
            text += f" {int(reason['object']):#x}" if int(reason["object"]) != 0 else ""
            found.append((fiber, f"runtime {number}  {text}"))
    return found


def by_frame_pointers(context, where, most=40):
    """Return addresses without touching registers: right where the code keeps frame pointers."""
    pc, frame = word_at(context + where["pc"]), word_at(context + where["frame"])
    for i in range(most):
        symbol = gdb.find_pc_line(pc)
        block = gdb.execute(f"info symbol {pc:#x}", to_string=True).strip()
        line = f" at {symbol.symtab}:{symbol.line}" if symbol.symtab else ""
        print(f"#{i:<3}{pc:#018x} {block}{line}")
        if frame == 0:
            return
        try:
            pc, frame = word_at(frame + 8), word_at(frame)
        except gdb.MemoryError:
            return
        if pc == 0:
            return


def backtrace(fiber):
    where = layout()
    context = int(atomic(fiber["context"]))
    if gdb.selected_thread() is None or not gdb.selected_thread().is_valid():
        return by_frame_pointers(context, where)
    gdb.newest_frame().select()
    stack_pointer, above = where["sp"]
    registers = list(where["saved"]) + [stack_pointer]
    before = {r: int(gdb.parse_and_eval(f"(unsigned long)${r}")) for r in registers}
    try:
        try:
            for register, offset in where["saved"].items():
                gdb.execute(f"set var ${register} = {word_at(context + offset)}", to_string=True)
            gdb.execute(f"set var ${stack_pointer} = {context + above}", to_string=True)
        except gdb.error:
            return by_frame_pointers(context, where)
        gdb.execute("backtrace")
    finally:
        for register, value in before.items():
            try:
                gdb.execute(f"set var ${register} = {value}", to_string=True)
            except gdb.error:
                pass


class Plx(gdb.Command):
    """The runtime's tasks: plx tasks, plx bt N, plx bt all."""

    def __init__(self):
        super().__init__("plx", gdb.COMMAND_STACK, prefix=True)


class Tasks(gdb.Command):
    """Suspended tasks of all runtimes, with what they wait on: plx tasks"""

    def __init__(self):
        super().__init__("plx tasks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        found = suspended()
        for number, (_, text) in enumerate(found):
            print(f"{number:4}  {text}")
        if not found:
            print("no task is suspended")


class Backtrace(gdb.Command):
    """The backtrace of a suspended task, or of all: plx bt N, plx bt all"""

    def __init__(self):
        super().__init__("plx bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        found = suspended()
        if argument.strip() == "all":
            wanted = range(len(found))
        elif argument.strip().isdigit() and int(argument) < len(found):
            wanted = [int(argument)]
        else:
            raise gdb.GdbError(f"plx bt: expected a number below {len(found)} (see plx tasks), or all")
        for number in wanted:
            fiber, text = found[number]
            print(f"task {number}  {text}")
            backtrace(fiber)


Plx()
Tasks()
Backtrace()
