#!/usr/bin/env python3
"""Types into an interactive shell and says what became of each line, for tests of completion.

usage: typed.py bash|zsh SETUP LINE...   each LINE is typed, then a tab; SETUP is run first; a line of output each
"""

import os
import pty
import re
import select
import sys
import time

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
# Control-G prints what stands in the line, and empties it.
PREPARED = {
    "bash": "bind 'set bell-style none'; shown() { printf '<%s>\\n' \"$READLINE_LINE\"; READLINE_LINE=; };"
    " bind -x '\"\\C-g\": shown'",
    "zsh": 'unsetopt beep; autoload -Uz compinit; compinit -u -D; shown() { print -r -- "<$BUFFER>"; BUFFER=; };'
    " zle -N shown; bindkey '^G' shown",
}
SECONDS = 60


def read_until(terminal, pattern):
    text, end = "", time.monotonic() + SECONDS
    while not (found := re.search(pattern, text)):
        if time.monotonic() > end or not select.select([terminal], [], [], SECONDS)[0]:
            sys.exit(f"typed.py: no {pattern} within {SECONDS} s, but: {text!r}")
        text += os.read(terminal, 65536).decode(errors="replace")
    return found


def main(shell, setup, *lines):
    child, terminal = pty.fork()
    if child == 0:
        environment = {**os.environ, "TERM": "dumb", "PS1": "", "COLUMNS": "1000"}
        os.execvpe(SHELLS[shell][0], SHELLS[shell], environment)
    prepared = f"{setup}; {PREPARED[shell]}" if shell == "zsh" else f"{PREPARED[shell]}; {setup}"
    # In two pieces, so that the echo of the command is not taken for its output.
    os.write(terminal, f"{prepared}; printf '%s%s\\n' rea dy\n".encode())
    read_until(terminal, "ready")
    for line in lines:
        os.write(terminal, line.encode() + b"\t\x07")
        print(read_until(terminal, r"<([^<>]*)>\r?\n")[1], flush=True)
    os.close(terminal)


if __name__ == "__main__":
    main(*sys.argv[1:])
