# make lint: format, shape, clang-tidy, headers alone, symbols, Python. Only what has changed is
# looked at again.
LINTED += kernels/include/kernrig registry/include/kernrig
$(B)/obj/kernels/include/kernrig/%.alone: LAYER_FLAGS := $(INCLUDES_abi)
$(B)/obj/registry/include/kernrig/%.alone: LAYER_FLAGS := $(INCLUDES_registry)

FORMATTED = $(shell find kernels registry server tests -name '*.[ch]')
TIDIED = $(patsubst %.c,$(B)/obj/%.tidy,$(sort $(wildcard $(addsuffix /*.c,$(LINTED))) \
                                         $(MAIN_FILES:%=%.c)))
ALONE = $(patsubst %.h,$(B)/obj/%.alone,$(sort $(wildcard $(addsuffix /*.h,$(LINTED)))))

.PHONY: lint lint-c lint-format lint-source lint-symbols lint-python format
lint: lint-format lint-source lint-c lint-symbols lint-python ## format, shape, clang-tidy, headers, symbols, Python
lint-format:
	@clang-format --dry-run -Werror $(FORMATTED)
lint-source:
	@tests/lint/check_source.py
	@tools/make_limits.py --check
lint-c: $(ALONE) $(TIDIED)
lint-symbols: all
	@tests/lint/check_symbols.sh $(B)
# The client has a configuration of its own.
LINTED_PYTHON := tests tools demo
lint-python: client-lint $(VENV)/.ready-test
	@$(VENV)/bin/ruff check $(LINTED_PYTHON)
	@$(VENV)/bin/ruff format --check $(LINTED_PYTHON)
	@$(VENV)/bin/mypy $(LINTED_PYTHON)
format: $(VENV)/.ready-test ## clang-format everything, ruff the Python
	@clang-format -i $(FORMATTED)
	@$(VENV)/bin/ruff check --fix $(LINTED_PYTHON) && $(VENV)/bin/ruff format $(LINTED_PYTHON)
	@cd $(CLIENT) && $(CURDIR)/$(VENV)/bin/ruff check --fix . && $(CURDIR)/$(VENV)/bin/ruff format .
