# SPDX-License-Identifier: Apache-2.0
"""`python -m kernrig` is the command `kernrig`."""

from kernrig._cli import main

if __name__ == "__main__":
    main()
