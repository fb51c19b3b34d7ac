# Debian's nginx: a worker is attached, requests are counted exactly, then it is left as it was.
from spiletest import *
import urllib.request

binary, port, directory = installed("nginx"), free_port(), temporary_directory()
(directory / "index.html").write_text("hello\n")
(directory / "conf").write_text(f"""daemon off; pid {directory}/pid; worker_processes 1; error_log {directory}/log;
{"user root;" if os.geteuid() == 0 else ""} events {{ }} http {{ access_log off; client_body_temp_path {directory}/b;
proxy_temp_path {directory}/p; fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
server {{ listen 127.0.0.1:{port}; root {directory}; }} }}""")
master = start(binary, "-e", directory / "log", "-c", directory / "conf")
def get():
    return urllib.request.urlopen(f"http://127.0.0.1:{port}/index.html", timeout=10).read()
def children():
    return pathlib.Path(f"/proc/{master.pid}/task/{master.pid}/children").read_text().split()
wait_until(children, 10, "nginx's worker")
worker = int(children()[0])
wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, 10, "nginx to listen")
session = Session("-e", 'global c probe process.function("ngx_http_process_request") { c++ } '
                        'probe end { printf("%d\\n", c) }', "-x", worker).attached(worker)
for _ in range(100):
    expect(get(), b"hello\n")
session.stop().expect(out="100\n", status=0)
expect_untouched(worker)
expect(get(), b"hello\n")
