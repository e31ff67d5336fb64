# SPDX-License-Identifier: Apache-2.0
"""Runs cases as TAP, each in an empty folder of its own."""
import os
import tempfile


def run(name, cases):
    """Exit status: 1 where a case raised anything."""
    failed = 0
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        with tempfile.TemporaryDirectory() as where:
            os.chdir(where)
            try:
                case()
                print(f"ok {number} /inject/{name}/{case.__name__}", flush=True)
            except Exception as error:  # any of them is the case's failure
                failed += 1
                print(f"not ok {number} /inject/{name}/{case.__name__}")
                print("# " + repr(error).replace("\n", "\n# "), flush=True)
            os.chdir("/")
    return 1 if failed else 0
