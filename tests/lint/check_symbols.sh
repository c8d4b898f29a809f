#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh BUILD: what the linked files need and export.
set -eu
build=$1
failed=0

complain() {
    echo "check_symbols: $*"
    failed=1
}

# What lives beside a kernel is small: no gRPC, no libuv, no protobuf.
if ldd "$build/kernrig-worker" | grep -E 'libgrpc|libuv|libprotobuf'; then
    complain "kernrig-worker is linked with a library that belongs to the daemon"
fi

# A kernel library exports its table and nothing else, and needs libc and libm and nothing else.
for library in "$build"/lib/kernrig/*.so; do
    exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort | tr '\n' ' ')
    [ "$exported" = "kr_library_table " ] || complain "$library exports: $exported"
    needed=$(objdump -p "$library" | awk '/NEEDED/{print $2}' | grep -vE '^lib(c|m)\.so' || true)
    case $build in
    *address* | *thread*) ;; # a sanitizer's run-time library is needed there
    *) [ -z "$needed" ] || complain "$library needs $needed" ;;
    esac
done

# The kernels that are written are the kernels that are linked.
written=$(cat kernels/portable/*.c | grep -cE '^KR_KERNEL\(')
size=$(objdump -h "$build/lib/kernrig/libkernrig_portable.so" | awk '$2 == "kr_kernels" {print $3}')
linked=$((0x${size:-0} / 8))
[ "$written" = "$linked" ] || complain "$written kernels are written, $linked are linked"

# The daemon neither loads libraries nor maps memory.
for symbol in dlopen mmap mmap64 ptrace; do
    if nm "$build/libkr_daemon.a" 2>/dev/null | grep -qE " U $symbol\$"; then
        complain "the daemon calls $symbol"
    fi
done
exit $failed
