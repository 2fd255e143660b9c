"""The course's one entry point: python3 course.py lab | test | check | reset [chapter] | local-llm | bench | eval

Only the standard library is used, and this file stays readable to old Pythons, so that an unsuitable one
is told so in a sentence. The work is done in the folder coursekit/.
"""

import os
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 13)


def runs(program):
    """Whether this is a Python that starts (version managers put names on the PATH that do not)."""
    if not os.path.isfile(program):
        return False
    with open(os.devnull, "w") as silence:
        return subprocess.call([program, "-c", "pass"], stdout=silence, stderr=silence) == 0


def unsuitable(version):
    """Why this Python cannot be used, with the way out; an empty text when it can."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return ""
    names = ["python3.{}".format(minor) for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    folders = os.environ.get("PATH", "").split(os.pathsep)
    found = [name for name in names if any(runs(os.path.join(folder, name)) for folder in folders)]
    if found:
        advice = "this machine has {0}, so type: {0} course.py lab".format(found[0])
    else:
        advice = "install Python 3.13 and run course.py with it"
    return "This course needs Python {}.{} to {}.{}, and this is {}.{}; {}.".format(
        OLDEST[0], OLDEST[1], NEWEST[0], NEWEST[1], version[0], version[1], advice
    )


if __name__ == "__main__":
    reason = unsuitable(sys.version_info)
    if reason:
        sys.exit(reason)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from coursekit.commands import main

    sys.exit(main(sys.argv[1:]))
