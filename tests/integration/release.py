# SPDX-License-Identifier: BSD-3-Clause
"""The release of Ganesha that is tested, as lib.sh takes it."""

import os


def _numbers(release):
    return [int(n) for n in release.split("+")[0].split(".")]


def at_least(release):
    return _numbers(os.environ.get("GANESHA_RELEASE") or "4.3") >= _numbers(release)
