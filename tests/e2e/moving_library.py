# A program loads and unloads a library a thousand times a second while spile attaches to it: wherever the library is just then,
# it is probed from the next time on.
import subprocess

from spiletest import *

SOURCE = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  puts("ready");
  fflush(stdout);
  for (int i = 0; i < 100000; i++) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) return 1;
    ((void (*)(int))dlsym(library, "plugin_step"))(1);
    usleep(200);
    dlclose(library);
    usleep(200);
  }
}
"""
LIBRARY = program("libplugin.so")
binary = temporary_directory() / "mover"
subprocess.run(["gcc", "-O1", "-x", "c", "-o", binary, "-"], input=SOURCE.encode(), check=True)
SCRIPT = (f'global n, least = 5 probe process("{LIBRARY}").function("plugin_step") {{ n++ }} '
          'probe timer.ms(50) { if (n > least || ms++ > 400) exit() } probe end { println(n > least) }')
target = start(binary, LIBRARY, ready="ready")
for _ in range(8):
    spile("-e", SCRIPT, "-x", target.pid).expect(status=0, out="1\n", err="")
expect_true(target.poll() is None, "the program goes on")
