# Functions of a shared library that the program is linked with, and of libc, by path and by pattern.
from spiletest import *

library = program("libplugin.so")
spile("-e", f"""global a, b, m
probe process("{library}").function("plugin_step") {{ a++ }}
probe process.library("libplugin*").function("plugin_step").return {{ b++ }}
probe process.library("libc.so*").function("malloc") {{ m++ }}
probe end {{ printf("%d %d %d\\n", a, b, m > 0) }}""", "-c", f"{program('linked')} 1000").expect(
    out="sum 504500\n1000 1000 1\n", status=0)
# By the name that programs need it by, which is a link: libsqlite3.so.0 is libsqlite3.so.0.8.6.
sqlite = installed("sqlite3")
for point in ['process.library("libsqlite3.so.0")', 'process("libsqlite3.so.0")']:
    spile("-e", f'global n probe {point}.function("sqlite3_initialize") {{ n++ }} probe end {{ println(n > 0) }}', "-c",
          f"{sqlite} :memory: .exit").expect(
        out_match="^1$", status=0)
