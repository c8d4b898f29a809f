# Which build this is. Each configuration has a directory of its own below build/, so that flags
# never mix:  make SANITIZE=address,undefined  builds in build/address-undefined.
SANITIZE ?=
DEBUG ?=
comma := ,
empty :=
space := $(empty) $(empty)

CONFIG := $(if $(SANITIZE),$(subst $(comma),-,$(SANITIZE)),$(if $(DEBUG),debug,release))
B := build/$(CONFIG)
G := build/gen

# Not make's own idea of it, which is "cc" at the top and nothing in a make below.
ifneq ($(filter default undefined,$(origin CC)),)
CC := gcc
endif

VERSION := $(shell cat VERSION)

# What a build needs of Debian 12; tools/setup.sh installs it. One list, so that README, CI and
# setup cannot disagree.
BUILD_PACKAGES := gcc libc6-dev make pkg-config libgrpc-dev libprotobuf-dev protobuf-compiler \
                  protobuf-c-compiler libprotobuf-c-dev libuv1-dev uthash-dev libxxhash-dev \
                  python3 python3-venv
TEST_PACKAGES := libcmocka-dev clang clang-format clang-tidy valgrind g++ procps

OPTIMIZE := $(if $(SANITIZE)$(DEBUG),-O1 -fno-omit-frame-pointer,-O2)
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef \
            -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wcast-qual
CFLAGS_ALL = -std=c11 -D_GNU_SOURCE -g $(OPTIMIZE) $(WARNINGS) -fvisibility=hidden -fPIC \
             -D_FORTIFY_SOURCE=$(if $(SANITIZE)$(DEBUG),0,2) -fstack-protector-strong \
             $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all) $(CFLAGS)
LDFLAGS_ALL = -Wl,-z,relro,-z,now $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
