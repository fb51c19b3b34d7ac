# Addresses as the files of their modules have them, and the build-ids of these files.
from spiletest import *

calls = program("calls")
result = spile("-e", """probe process.function("bar") {
  printf("%x %s\\n", umodaddr(uaddr()), umodbuildid(uaddr()))
  try { println(umodaddr(8)) } catch (why) { println(why) }
  try { println(umodbuildid(8)) } catch (why) { println(why) } }
probe end { try { println(umodaddr(16)) } catch (why) { println(why) } }""", "-c", f"{calls} 1", "-o",
               "/dev/stderr").expect(status=0)
symbols = subprocess.run(["nm", calls], capture_output=True, text=True, check=True).stdout
address = int(next(line.split()[0] for line in symbols.splitlines() if line.endswith(" T bar")), 16)
notes = subprocess.run(["readelf", "-n", calls], capture_output=True, text=True, check=True).stdout
build_id = next((line.split()[-1] for line in notes.splitlines() if "Build ID" in line), "")
expect(result.err, f"{address:x} {build_id}\n" + "no module has the address 0x8\n" * 2 + "no module has the address 0x10\n")
