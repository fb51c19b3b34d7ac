# system(): commands of a script run by the shell, their output where the script printed; waited for at the end.
from spiletest import *

spile("-e", 'probe begin { system("echo one"); println("two"); system("echo three; exit 7"); exit() } '
            'probe end { println("four") }').expect(
    out="one\ntwo\nthree\nfour\n", status=0, err="")
# One that takes its time does not hold up the script, but spile's end.
spile("-e", 'probe begin { system("sleep 0.5; echo late"); println("early"); exit() }').expect(out="early\nlate\n", status=0)
spile("-e", 'probe begin { system("nonsense-command-here"); exit() }').expect(out="", status=0, err_match="not found")
# From a probe in another program, and with the signals as the shell expects them.
spile("-e", 'probe process.function("main") { system("yes | head -1") }', "-c", f"{program('calls')} 1").expect(
    status=0, out_match="^y$")
# -c: what only a shell knows, and its status.
spile("-c", "exit 3", "-e", "probe end { println(1) }").expect(out="1\n", status=1,
                                                               err_match="exited with status 3(.|\n)*Pass 5: run failed")
