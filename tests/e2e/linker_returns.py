# Returns of all functions of the dynamic linker: those that the linkage table jumps to find more than a return address on the
# stack, and have their calls counted alone.
from spiletest import *

ALL = ("global c, r probe process.library(\"{0}\").function(\"*\") {{ c <<< 1 }} "
       "probe process.library(\"{0}\").function(\"*\").return {{ r <<< 1 }}")
for library in ("ld-linux*", "*"):
    script = ALL.format(library) + ' probe end { printf("%d %d\\n", @count(c) > 100, @count(r) > 100) }'
    for command in ("/bin/true", f"{program('calls_Os')} 1000", "/bin/sh -c '/bin/true; /bin/echo done'"):
        plain = subprocess.run(command, shell=True, capture_output=True, text=True)
        result = spile("-DMAXSKIPPED=0", "-e", script, "-c", command).expect(status=plain.returncode)
        expect(result.out, plain.stdout + "1 1\n", f"{library}, {command}")
        expect(re.search("ended by|exited with signal", result.err), None, result.err)
