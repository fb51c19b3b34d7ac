# longjmp leaves frames of probed functions, few or many, and an exception is thrown where they lay: the handlers that unwinders
# need run there, and must not take their own return addresses for those of the frames.
from spiletest import *

SCRIPTS = ['global c, r probe process.function("*") { c <<< 1 } probe process.function("*").return { r <<< 1 }',
           'global r probe process.function("jump").return, process.function("descend").return { r <<< 1 }']

for depth in (3, 33, 41, 64):
    for spread in (0, 8, 24, 40, 100):
        command = f"{program('left_frames')} {depth} {spread} 20"
        plain = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout
        for script in SCRIPTS:
            result = spile("-e", script + " probe end {}", "-c", command).expect(status=0)
            expect(result.out.splitlines()[0] + "\n", plain, f"the output of {command}")
            expect(re.search("signal", result.err), None, result.err)
