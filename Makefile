# kernrig: front door of the build. `make help` lists the targets.
# Non-recursive: each folder's module.mk says what it has; mk/ holds the rules.
.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-builtin-variables
# On every core; JOBS=1 for one thing after the other.
JOBS ?= $(shell nproc)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif
AR := ar

include mk/config.mk
include mk/layers.mk
include mk/rules.mk
include mk/setup.mk
include $(sort $(wildcard proto/module.mk kernels/module.mk registry/module.mk server/module.mk \
                          client/python/module.mk demo/module.mk tests/module.mk \
                          tests/*/module.mk))

.PHONY: all help clean
all: $(ALL) ## build the daemon, the worker and the kernels (the default)
clean: ## remove what was built; the environments stay
	rm -rf build

help: ## this list
	@awk -F':.*## ' '/^[a-z_-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  SANITIZE=address,undefined (or thread) before a target builds and runs it so."

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
