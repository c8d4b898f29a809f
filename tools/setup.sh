#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh packages NAME…          Debian packages: installs those that are missing
# setup.sh venv DIRECTORY TEXT…    a virtual environment of Debian's Python with pip's arguments TEXT
#
# As root it installs; as anybody else it prints the line that would, and exits with 2.
set -eu

packages() {
    missing=""
    for name in "$@"; do
        status=$(dpkg-query -W -f '${Status}' "$name" 2>/dev/null || true)
        [ "$status" = "install ok installed" ] || missing="$missing $name"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "kernrig needs Debian packages that are missing. Install them with:" >&2
        echo "  sudo apt-get install --no-install-recommends$missing" >&2
        exit 2
    fi
    echo "  APT  $missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086 # the names are words
    apt-get install -qq -y --no-install-recommends $missing >/dev/null
}

venv() {
    directory=$1
    shift
    echo "  VENV  $directory"
    # Made anew when what belongs into it has changed: a half-made one is worse than none.
    rm -rf "$directory"
    /usr/bin/python3 -m venv "$directory"
    "$directory/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir "$@"
}

command=$1
shift
case $command in
packages) packages "$@" ;;
venv) venv "$@" ;;
*) echo "setup.sh: packages or venv, not $command" >&2; exit 2 ;;
esac
