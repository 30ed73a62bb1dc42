"""Hosts on one machine: each has a network, a name, an /etc/hosts and a /dev/shm of its own
(namespaces), and a link to all others that can be cut without a word."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import runs

PREFIX = "10.83.7"
BRIDGE = ["ip", "link", "add", "br0", "type", "bridge"]


def missing():
    """Why there can be none, or nothing."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    tools = [tool for tool in ("ip", "unshare", "nsenter") if not shutil.which(tool)]
    if tools:
        return f"there is no {tools[0]}"
    tried = subprocess.run(
        ["unshare", "-n", "-u", "-i", "-m", *BRIDGE],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return None if tried.returncode == 0 else "namespaces with a bridge are not allowed here"


class Hosts:
    """h1, h2, ... and the switch between them."""

    def __init__(self, folder, count):
        self.folder, self.holders = folder, {}
        self.names = [f"h{i}" for i in range(1, count + 1)]
        (folder / "hosts").write_text(
            "127.0.0.1 localhost\n" + "".join(f"{PREFIX}.{i} h{i}\n" for i in range(1, count + 1))
        )
        try:
            self.hold("switch")
            self.at("switch", f"{' '.join(BRIDGE)} && ip link set br0 up")
            for name in self.names:
                self.hold(name)
                self.connect(name)
        except BaseException:
            self.close()
            raise

    def hold(self, name):
        """A process that sleeps, and keeps the namespaces."""
        begin = (
            f"hostname {name}; ip link set lo up; mount -t tmpfs -o size=25% tmpfs /dev/shm; "
            f"mount --bind {self.folder}/hosts /etc/hosts; touch {self.folder}/{name}.up; "
            "exec sleep infinity"
        )
        self.holders[name] = subprocess.Popen(
            ["unshare", "-n", "-u", "-i", "-m", "--propagation", "private", "bash", "-c", begin],
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        if not runs.wait_for((self.folder / f"{name}.up").exists, 10):
            raise RuntimeError(f"host {name} did not come up")

    def connect(self, name):
        number, process = name[1:], self.holders[name].pid
        switch = self.holders["switch"].pid
        runs.quiet(["ip", "link", "add", f"to-{name}", "netns", str(switch), "type", "veth",
                    "peer", "name", "eth0", "netns", str(process)])  # fmt: skip
        self.at("switch", f"ip link set to-{name} master br0 up")
        self.at(name, f"ip addr add {PREFIX}.{number}/24 dev eth0 && ip link set eth0 up")

    def inside(self, name):
        """What goes before a command that is to run there."""
        return ["nsenter", "-t", str(self.holders[name].pid), "-n", "-u", "-i", "-m", "--"]

    def at(self, name, command):
        return runs.quiet([*self.inside(name), "bash", "-c", command])

    def agent(self):
        """What mpirun starts its daemons by, as it would by ssh."""
        path = self.folder / "agent"
        cases = "".join(f"  {name}) pid={self.holders[name].pid} ;;\n" for name in self.names)
        path.write_text(
            "#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nhost=$1\nshift\ncase $host in\n"
            f'{cases}esac\nexec env -u SKEIN_SUPERVISED nsenter -t "$pid" -n -u -i -m -- bash -c "$*"\n'
        )
        path.chmod(0o755)
        return path

    def processes(self, name):
        """What runs there, but for what keeps the namespaces."""
        network = os.readlink(f"/proc/{self.holders[name].pid}/ns/net")
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(path / "ns/net") == network:
                    found.append(int(path.name))
            except OSError:
                continue
        return [one for one in found if one != self.holders[name].pid and runs.alive(one)]

    def cut(self, name):
        """Packets from and to it vanish; nobody is told."""
        self.at("switch", f"ip link set to-{name} down")

    def heal(self, name):
        self.at("switch", f"ip link set to-{name} up")
        time.sleep(0.2)

    def close(self):
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
