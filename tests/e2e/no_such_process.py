# A process number that does not exist.
from spiletest import *

spile("-e", 'probe process.function("foo") { }', "-x", 4194303).expect(status=1, out="", err_match="(4194303.*([Nn]o such|does not exist)|no process 4194303)")
