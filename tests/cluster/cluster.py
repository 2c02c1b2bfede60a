"""A cluster on one machine: hosts are network namespaces with names and addresses of their own, connected by virtual
Ethernet and a bridge. Processes on two hosts communicate by TCP over a link that can be slowed, delayed, lossy, or cut.

Needs root, network namespaces and mpirun; why_not() reports what is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

AGENT = Path(__file__).resolve().parent / "rsh_agent"


def run(*command, check=True):
    return subprocess.run([str(c) for c in command], check=check, capture_output=True, text=True, timeout=600)


def why_not() -> str:
    """The reason why no cluster can be created here, in one line; "" if it can."""
    for program in ("ip", "tc", "unshare", "mpirun"):
        if shutil.which(program) is None:
            return f"no cluster on one machine: there is no program '{program}'"
    if os.geteuid() != 0:
        return "no cluster on one machine: network namespaces need root"
    name = f"plx{os.getpid()}-try"
    made = run("ip", "netns", "add", name, check=False)
    if made.returncode != 0:
        return f"no cluster on one machine: {made.stderr.strip()}"
    veth = run("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", "eth1", check=False)
    run("ip", "netns", "del", name, check=False)
    return f"no cluster on one machine: {veth.stderr.strip()}" if veth.returncode != 0 else ""


class Cluster:
    """`with Cluster(2) as c: c.mpirun(2, program)`: the hosts exist for the duration of the block."""

    def __init__(self, hosts: int):
        self.names = [f"plx{os.getpid()}-{i}" for i in range(hosts)]
        self.switch = f"plx{os.getpid()}-sw"

    def __enter__(self):
        try:
            run("ip", "netns", "add", self.switch)
            run("ip", "-n", self.switch, "link", "add", "switch", "type", "bridge")
            run("ip", "-n", self.switch, "link", "set", "switch", "up")
            for i, name in enumerate(self.names):
                self._add_host(i, name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _add_host(self, i: int, name: str):
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{i}", "netns", self.switch)
        run("ip", "-n", name, "addr", "add", f"10.99.0.{i + 1}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", self.switch, "link", "set", f"port{i}", "master", "switch", "up")

    def __exit__(self, *_):
        for name in (*self.names, self.switch):
            for pid in run("ip", "netns", "pids", name, check=False).stdout.split():
                run("kill", "-9", pid, check=False)
            run("ip", "netns", "del", name, check=False)

    def shape(self, host: int, *discipline) -> str:
        """Gives the host's link a queueing discipline of tc's, such as ("netem", "delay", "1ms", "loss", "1%") or
        ("tbf", "rate", "100mbit", "burst", "64kbit", "latency", "50ms"). Returns a one-line error; "" on success."""
        name = self.names[host]
        run("tc", "-n", name, "qdisc", "del", "dev", "eth0", "root", check=False)
        done = run("tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", *discipline, check=False)
        return f"tc {discipline[0]}: {done.stderr.strip()}" if done.returncode != 0 else ""

    def cut(self, host: int):
        """Disconnects the host."""
        run("ip", "-n", self.switch, "link", "set", f"port{host}", "down")

    def command(self, processes: int, *command, options=()) -> list:
        """The command line that starts that many processes, distributed round-robin over the hosts."""
        slots = -(-processes // len(self.names))
        hosts = ",".join(f"{name}:{slots}" for name in self.names)
        mpirun = ["mpirun", "--mca", "plm_rsh_agent", str(AGENT), "--mca", "oob_tcp_if_include", "eth0"]
        mpirun += ["--oversubscribe", "--bind-to", "none", "--map-by", "node", "--host", hosts, "-n", str(processes), *options]
        first = self.names[0]
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', first]
        return ["ip", "netns", "exec", first, *named, *mpirun, *map(str, command)]

    def popen(self, processes: int, *command, options=(), **settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PLX_")}
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        forwarded = []
        for key, value in ({"PLX_THREADS": "1"} | settings).items():
            environment[key] = value
            forwarded += ["-x", key]
        return subprocess.Popen(
            self.command(processes, *command, options=(*forwarded, *options)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def mpirun(self, processes: int, *command, timeout_s=600, options=(), **settings):
        """Runs the command to its end. Returns exit code, output, errors."""
        started = self.popen(processes, *command, options=options, **settings)
        try:
            output, errors = started.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            started.kill()
            raise
        return started.returncode, output, errors
