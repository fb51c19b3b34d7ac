# A library that the program opens, closes and opens again while it runs.
from spiletest import *

library = program("libplugin.so")
spile("-e", f'global a probe process("{library}").function("plugin_step") {{ a++ }} '
            'probe end { printf("a %d\\n", a) }', "-c", f"{program('loads')} {library} 1000").expect(
    out="sums 504500 504500\na 2000\n", status=0)
