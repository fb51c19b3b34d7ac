# Debian's nginx: a worker is attached, requests are counted exactly, then it is left as it was.
from spiletest import *

nginx = Nginx()
session = Session("-e", 'global c probe process.function("ngx_http_process_request") { c++ } '
                        'probe end { printf("%d\\n", c) }', "-x", nginx.worker).attached(nginx.worker)
for _ in range(100):
    expect(nginx.get(), b"hello\n")
session.stop().expect(out="100\n", status=0)
expect_untouched(nginx.worker)
expect(nginx.get(), b"hello\n")
