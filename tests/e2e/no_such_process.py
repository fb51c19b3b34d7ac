# A process number that does not exist.
from spiletest import *

spile("-e", 'probe process.function("foo") { }', "-x", 4194303).expect(status=1, out="",
                                                                       err_match="no process has the ID 4194303")
# The first thread has ended, another goes on.
threads = start(sys.executable, "-c", "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(20,)).start(); "
                "print('ready', flush=True); ctypes.CDLL(None).pthread_exit(None)", ready="ready")
wait_state(threads.pid, "Z")
spile("-x", threads.pid, "-e",
      'probe process.function("*") { }').expect(status=1, err_match="its main thread has ended, while others still run")
