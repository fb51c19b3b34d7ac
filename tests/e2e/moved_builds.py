# A build folder that was copied or moved with its clone is configured anew by ./dev, and a program that was copied without
# spile-run says what --remote lacks.
from spiletest import *

folder = temporary_directory()
first, second = folder / "first", folder / "a second"
first.mkdir()
(first / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.24)\nproject(nothing NONE)\n")
(first / "CMakePresets.json").write_text("""{"version": 3, "configurePresets":
  [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}""")
[configure] = re.findall(r"^configure\(\) \{.*?^\}$", (ROOT / "dev").read_text(), re.M | re.S)


def configured_in(clone):
    (clone / "build").mkdir(exist_ok=True)
    done = subprocess.run(["bash", "-euc", f"{configure}\nconfigure release"], cwd=clone, capture_output=True, text=True)
    expect_true(done.returncode == 0, done.stdout + done.stderr)
    cache = (clone / "build/release/CMakeCache.txt").read_text()
    expect_match(rf"(?m)^CMAKE_HOME_DIRECTORY:INTERNAL={re.escape(str(clone.resolve()))}$", cache)
    return done.stdout


if not shutil.which("cmake") or not shutil.which("ninja"):
    skip("cmake or ninja is not installed")
expect(configured_in(first), "")
expect(configured_in(first), "")
shutil.copytree(first, second)
expect(configured_in(second), f"== build/release was configured in {first.resolve()}: configuring it anew\n")
expect(configured_in(second), "")

alone = folder / "spile"
os.link(SPILE, alone) if os.stat(SPILE).st_dev == os.stat(folder).st_dev else shutil.copy(SPILE, alone)
done = subprocess.run([alone, "--remote=nowhere.invalid", "-e", "probe begin { exit() }"], capture_output=True, text=True)
expect((done.returncode, done.stdout), (1, ""))
runner = re.escape(f"{alone.resolve()}-run")
expect_match(rf"^spile: --remote sends {runner} along, which is not there\n  hint: in a build tree, \./dev build", done.stderr)
