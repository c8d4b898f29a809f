# SPDX-License-Identifier: Apache-2.0
"""One file per command: a function of the file's name, whose docstring is its help."""
