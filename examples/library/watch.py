#!/usr/bin/env python3
"""watch: shows the arguments of a function's calls as they come, and at the end how often each value of the first one came.

    watch.py FUNCTION 'COMMAND'
    watch.py FUNCTION PID
"""
import sys

import spile

SCRIPT = """
global values
probe process.function(@1) { values[int_arg(1)]++  printf("%s(%s) by %s\\n", ppfunc(), $$parms, execname()) }
"""


def main(function, target):
    where = {"pid": int(target)} if target.isdigit() else {"command": target}
    with spile.run(SCRIPT, arguments=[function], **where) as session:
        try:
            for event in session:
                print(event.text, end="")
        except KeyboardInterrupt:
            session.stop()
            for event in session:
                print(event.text, end="")
        end = session.read()
        for value, calls in sorted(end.globals["values"].items(), key=lambda item: -item[1])[:10]:
            print(f"{calls} x {value}")
        print(f"{end.skipped + end.lost_records} calls were lost")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except spile.Error as error:
        sys.exit(str(error))
