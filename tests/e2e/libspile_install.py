"""What the tests of libspile share: the library installed to a prefix of their own, where a program finds it by pkg-config or CMake."""
from spiletest import *

if not (BUILD / "lib/libspile.so.0").exists():
    skip("libspile.so.0 was not built")
PREFIX = temporary_directory() / "usr"
for component in ("libspile0", "libspile-dev", "python3-spile"):
    subprocess.run(["cmake", "--install", BUILD, "--prefix", PREFIX, "--component", component], check=True, stdout=subprocess.DEVNULL)
(PREFIX / "bin").mkdir(parents=True, exist_ok=True)
(PREFIX / "bin/spile").symlink_to(SPILE)
LIBRARY = next(PREFIX.glob("lib*/**/libspile.so.0"))
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent), "PYTHONPATH": str(next(PREFIX.glob("lib/python3/dist-packages")))}
ENVIRONMENT.pop("SPILE_PROGRAM", None)


def compile_with_pkg_config(source, *options, compiler="cc"):
    """Builds a program of text as a newcomer does, with all warnings as errors. Returns its path."""
    folder = temporary_directory()
    path = folder / ("source.cpp" if "++" in compiler else "source.c")
    path.write_text(source)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "spile"], env={**os.environ, "PKG_CONFIG_PATH": str(LIBRARY.parent / "pkgconfig")},
                           check=True, capture_output=True, text=True).stdout.split()
    subprocess.run([installed(compiler), "-Wall", "-Wextra", "-Wpedantic", "-Werror", *options, path, *flags, "-o", folder / "program"], check=True)
    return folder / "program"


def run(*command, status=0, **options):
    """Runs a program that uses the library to its end. Returns its output."""
    result = subprocess.run([str(word) for word in command], env=ENVIRONMENT, capture_output=True, text=True, timeout=300, **options)
    expect(result.returncode, status, f"status of {command}\n{result.stdout}\n{result.stderr}")
    return result.stdout
