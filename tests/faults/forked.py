"""A process that forks others on demand, each of which does something until it is done, interrupted or killed.

Forking after everything is imported and compiled makes one cheap. Started with names of modules, each of which has
`prepare()`, called once, and `run(**arguments)`, which returns an exit code. Commands are JSON, a line each:

    {"run": module, "log": path, "arguments": {...}}     prints the number of the new process
    {"wait": number}                                     prints how it ended

A process writes what it has to say to its log, and leads a group of its own. It ends with 130 after an interruption and
with 99, and a traceback in its log, after an error that nobody meant.
"""

import json
import os
import signal
import sys
import traceback
from importlib import import_module


def do(module, log, arguments):
    """Run a module in this new process, and return the exit code."""
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, 1)
        os.dup2(file, 2)
        code = module.run(**arguments)
    except KeyboardInterrupt:
        code = 130
    except BaseException:  # a forked child must never return into the parent's loop
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def main(names):
    modules = {name: import_module(name) for name in names}
    for module in modules.values():
        module.prepare()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until a new process can take it
    print("ready", flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if "wait" in command:
            print(os.waitstatus_to_exitcode(os.waitpid(command["wait"], 0)[1]), flush=True)
            continue
        child = os.fork()
        if child == 0:
            os._exit(do(modules[command["run"]], command["log"], command["arguments"]))
        print(child, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
